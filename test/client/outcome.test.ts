import { messageOf, outcomeOf, refuse } from '../../client/outcome';

describe('the text of an error', () => {
  it.each([
    [new Error('the disk is full'), 'the disk is full'],
    ['the disk is full', 'the disk is full'],
    [17, '17'],
    [null, 'null'],
    [{ message: 'the disk is full' }, 'the disk is full'],
  ])('is the message of an error object, else its string form: %j (GN8)', (error, text) => {
    expect(messageOf(error)).toBe(text);
  });
});

describe('the outcome of an operation', () => {
  it('is a refusal as a value, as it was given, with the task that it is about (GN3, GN5)', async () => {
    const exact = { hint: 'h', retryable: true };
    const answer = await outcomeOf(() => Promise.resolve(refuse('TASK_TERMINAL', 'said', exact)), 'T');
    expect(answer).toEqual({ success: false, code: 'TASK_TERMINAL', error: 'said', ...exact, taskId: 'T' });
  });

  it('is the answer of one that went well, with nothing that has no value (GN4)', async () => {
    expect(await outcomeOf(() => Promise.resolve({ taskId: 'T' }))).toEqual({ success: true, taskId: 'T' });
  });

  it('is thrown when it is a defect of our own', async () => {
    await expect(outcomeOf(() => Promise.reject(new TypeError('x')))).rejects.toThrow('x');
  });
});
