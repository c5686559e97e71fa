import { errorLine, plainText } from '../../../activities/provider/plain-text';

describe('provider text in a record', () => {
  it('is one bounded line without control characters, visibly cut', () => {
    const text = plainText(`\u001b[31mred\u001b[0m\n\u0007bell\u0000 ${'€'.repeat(700)}`, []);
    expect(text).toMatch(/^red bell +€+…$/);
    expect([...text]).toHaveLength(600);
  });

  it.each([
    'Authorization: Bearer abcdef0123456789',
    'key sk-proj-abcdef0123456789',
    'OPENAI_API_KEY=hunter2hunter2',
    '{"access_token":"hunter2hunter2"}',
    'https://user:hunter2hunter2@example.org/',
    'the value s3cr3t-of-the-host was refused',
  ])('holds no secret: %s', (text) => {
    const clean = plainText(text, ['s3cr3t-of-the-host']);
    expect(clean).toContain('[redacted]');
    expect(clean).not.toMatch(/hunter2|abcdef0123456789|s3cr3t/);
  });

  it('takes the line that names the error', () => {
    expect(errorLine('Reading input\nError: no rollout\n  at x\n')).toBe('Error: no rollout');
    expect(errorLine('first\nlast\n\n')).toBe('last');
  });
});
