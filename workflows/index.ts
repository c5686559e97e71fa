import './zod-config';

export { directTask } from './direct-task/direct-task';
export { dispatchTask } from './dispatch-task/dispatch-task';
export { failOrphan } from './fail-orphan';
export { project } from './project/project';
export { reopenTask } from './reopen-task';
export { resumeCodex } from './resume-codex';
export { sweepOrphans } from './sweep-orphans';
export { task } from './task/task';
