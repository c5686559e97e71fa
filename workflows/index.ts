import './zod-config';

export { directTask } from './direct-task/direct-task';
export { deliverReceipt } from './deliver-receipt';
export { dispatchTask } from './dispatch-task/dispatch-task';
export { failOrphan } from './fail-orphan';
export { project } from './project/project';
export { removeRuns } from './remove-runs';
export { reopenTask } from './reopen-task';
export { resumeCodex } from './resume-codex';
export { serveReceipts } from './serve-receipts';
export { sweepOrphans } from './sweep-orphans';
export { task } from './task/task';
