import { type FileHandle, open } from 'node:fs/promises';

/** A file that grows by whole appends: one that resolved is on disk, one that failed leaves nothing. One append at a time. */
export class AppendFile {
  #isTorn = false;

  private constructor(
    readonly path: string,
    readonly handle: FileHandle,
    /** Bytes of whole appends. */
    public size: number,
  ) {}

  /** `flags`: as of `open`, for writing at any place. Makes the file for its owner alone. */
  static async open(path: string, flags: string): Promise<AppendFile> {
    const handle = await open(path, flags, 0o600);
    return new AppendFile(path, handle, (await handle.stat()).size);
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (this.#isTorn) await this.#repair();
    this.#isTorn = true;
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await this.handle.write(bytes, done, bytes.length - done, this.size + done);
        done += bytesWritten;
      }
      await this.handle.datasync();
    } catch (error) {
      // If the disk refuses even this, the next append begins with it.
      await this.#repair().catch(() => undefined);
      throw error;
    }
    this.#isTorn = false;
    this.size += bytes.length;
  }

  async #repair(): Promise<void> {
    await this.handle.truncate(this.size);
    await this.handle.datasync();
    this.#isTorn = false;
  }
}
