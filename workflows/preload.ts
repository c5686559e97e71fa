import './zod-config';
import { z } from 'zod';

// Evaluated once per worker thread and shared, frozen, by all workflows: without it every run of a workflow evaluates the
// schema library anew, at about 1.3 MB and 10 ms. The first parse sets what could not be set once it is frozen.
z.object({ any: z.string() }).safeParse({});

export { z };
