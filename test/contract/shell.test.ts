import { execFileSync } from 'node:child_process';
import { continueWith, shellWord, withId } from '../../contract/shell';

describe('shellWord', () => {
  it.each(['T-1', 'a b', "it's", '字', '$(x)', 'a;b', '"'])('is the same word to a shell: %s', (word) => {
    const said = execFileSync('sh', ['-c', `printf %s ${shellWord(word)}`], { encoding: 'utf8' });
    expect(said).toBe(word);
  });

  it('leaves a plain word as it is', () => {
    expect(shellWord('T-1')).toBe('T-1');
  });
});

describe('a command in a hint', () => {
  it('has the id of the task, in quotes where it needs them', () => {
    expect(withId('`perdure decide ID --continue`, or `perdure dispatch ID`', 'a b')).toBe(
      "`perdure decide 'a b' --continue`, or `perdure dispatch 'a b'`",
    );
    expect(continueWith('T-1', 'token_budget')).toBe('perdure decide T-1 --continue --tokens N');
  });
});
