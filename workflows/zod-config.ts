import { z } from 'zod';

// Each run of a workflow builds its schemas anew and parses with them once or twice: compiling parsers would cost more
// than it saves. It stands before the schemas, which decide about it when they are made.
z.config({ jitless: true });
