import './zod-config';

export { dispatchTask } from './dispatch-task/dispatch-task';
export { failOrphan } from './fail-orphan';
export { reopenTask } from './reopen-task';
export { resumeCodex } from './resume-codex';
export { task } from './task';
