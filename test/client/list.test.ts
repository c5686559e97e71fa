import { listQuery } from '../../client/list';
import { SEARCH_ATTRIBUTE } from '../../contract/names';

describe('listQuery', () => {
  it('asks for the running phases of the tenant only', () => {
    expect(listQuery('acme')).toBe(
      "ExecutionStatus = 'Running' AND WorkflowType IN ('task', 'dispatchTask', 'reopenTask') AND PerdureTenant = 'acme'",
    );
  });

  it('adds every filter', () => {
    const query = listQuery('acme', { status: 'failed', agent: 'a', attention: 'recovery', project: 'p', host: 'h' });
    expect(query).toContain("PerdureStatus = 'failed' AND PerdureAgent = 'a' AND PerdureAttention = 'recovery'");
    expect(query).toContain("PerdureProject = 'p' AND PerdureHost = 'h'");
  });

  it('knows a filter for every search attribute', () => {
    const names = {
      status: 'failed',
      attention: 'none',
      agent: 'a',
      project: 'p',
      parent: 'q',
      host: 'h',
      thread: 't',
    };
    const query = listQuery('acme', names);
    for (const { name } of Object.values(SEARCH_ATTRIBUTE)) expect(query).toContain(`${name} = '`);
  });

  it("keeps a caller's own condition apart from the others", () => {
    expect(listQuery('acme', { query: 'StartTime > 0 OR true' })).toMatch(/ AND \(StartTime > 0 OR true\)$/);
  });

  it('escapes what would end a literal', () => {
    expect(listQuery('acme', { agent: "x' OR '1'='1" })).toMatch(/PerdureAgent = 'x'' OR ''1''=''1'$/);
  });

  it('refuses a backslash instead of finding nothing', () => {
    expect(() => listQuery('acme', { agent: "x\\' OR true" })).toThrow(/backslash/);
  });

  it('refuses an attention that is none', () => {
    expect(() => listQuery('acme', { attention: 'bogus' })).toThrow(/attention must be one of none, running/);
  });

  it('refuses a status that is none (TR4)', () => {
    expect(() => listQuery('acme', { status: 'review_required' })).toThrow(/status must be one of/);
  });
});
