/** How git is asked about a directory without a change to anything: no lock, no helper that it would start. */
export function readingGit(directory: string, ...args: string[]) {
  const { PATH, HOME, LANG } = process.env;
  return {
    args: ['-c', 'core.fsmonitor=false', ...args],
    options: { cwd: directory, env: { PATH, HOME, LANG, GIT_OPTIONAL_LOCKS: '0' } },
  };
}
