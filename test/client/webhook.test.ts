import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHome } from '../../client/home';
import { readSecret, receiptsConfigSchema, shownWebhook } from '../../client/webhook';

const config = (change: object = {}) => ({ webhook: 'https://books.example/hook', secretFile: 'secret', ...change });

describe('receipts.webhook', () => {
  it.each([
    'https://books.example/hook?tenant=1',
    'http://127.0.0.1:8080/hook',
    'http://localhost/hook',
    'http://[::1]:9/hook',
  ])('may be %s', (webhook) => {
    expect(receiptsConfigSchema.safeParse(config({ webhook })).success).toBe(true);
  });

  it.each([
    'http://books.example/hook',
    'http://10.0.0.1/hook',
    'http://127.0.0.1.example/hook',
    'https://user:password@books.example/hook',
    'https://user@books.example/hook',
    'ftp://books.example/hook',
    'file:///etc/passwd',
    'books.example/hook',
    '',
  ])('is refused as %s', (webhook) => {
    expect(receiptsConfigSchema.safeParse(config({ webhook })).success).toBe(false);
  });

  it('needs a secret, and is tried for 7 days unless told otherwise', () => {
    expect(receiptsConfigSchema.safeParse({ webhook: 'https://books.example' }).success).toBe(false);
    expect(receiptsConfigSchema.parse(config()).giveUpAfterMs).toBe(7 * 86_400_000);
    expect(receiptsConfigSchema.safeParse(config({ giveUpAfterMs: 31 * 86_400_000 })).success).toBe(false);
  });

  it('is shown without what comes behind its host, which may be a secret of its own', () => {
    expect(shownWebhook('https://books.example/hook/token?key=1')).toBe('https://books.example/...');
  });
});

describe('the secret of a webhook', () => {
  const home = mkdtempSync(join(tmpdir(), 'perdure-secret-'));
  const file = join(home, 'secret');
  const read = () => readSecret(home, receiptsConfigSchema.parse(config()));
  const write = (content: string, mode = 0o600) => {
    writeFileSync(file, content);
    chmodSync(file, mode);
  };
  afterAll(() => {
    rmSync(home, { recursive: true, force: true });
  });

  it.each([0o600, 0o400])('is read from a file of its owner alone (mode %o), without its line end', async (mode) => {
    rmSync(file, { force: true });
    write('sixteen bytes or more\n', mode);
    expect(await read()).toBe('sixteen bytes or more');
  });

  it.each([0o640, 0o604, 0o644, 0o620])('is refused in a file of mode %o, without its content', async (mode) => {
    rmSync(file, { force: true });
    write('sixteen bytes or more', mode);
    await expect(read()).rejects.toThrow(`has mode 0${mode.toString(8)}`);
    await expect(read()).rejects.not.toThrow('sixteen');
  });

  it.each([
    ['is too short', 'short\n'],
    ['is empty', ''],
    ['is too long', 'x'.repeat(5_000)],
  ])('is refused when it %s', async (_, content) => {
    rmSync(file, { force: true });
    write(content);
    await expect(read()).rejects.toThrow('a secret has 16 to 4096');
  });

  it('is refused when there is none, or no file', async () => {
    rmSync(file, { force: true });
    await expect(read()).rejects.toThrow('the secret file cannot be read');
    mkdirSync(file, { mode: 0o700 });
    await expect(read()).rejects.toThrow('is no file');
    rmSync(file, { recursive: true });
  });

  it('is named in config.json, and a bad setting is refused before anything starts', async () => {
    const env = { PERDURE_HOME: home };
    writeFileSync(join(home, 'config.json'), JSON.stringify({ receipts: config() }));
    expect((await openHome(env)).config.receipts).toMatchObject(config());
    writeFileSync(join(home, 'config.json'), JSON.stringify({ receipts: config({ webhook: 'http://books.example' }) }));
    await expect(openHome(env)).rejects.toThrow('receipts.webhook is no https URL');
  });
});
