/** Whose log a checkpoint is of: an organization's, or the service's if `org` is absent. */
export interface Origin {
  /** `CONTROL_TLOG_ORIGIN`. */
  readonly base: string;
  readonly org?: string;
  /** Counts the restores of an older log, from 1. */
  readonly epoch: number;
}

export function originText({ base, org, epoch }: Origin): string {
  const log = org === undefined ? '-tlog' : `org/${org}/-tlog`;
  return `${base}/audit/${log}${epoch > 1 ? `/${epoch}` : ''}`;
}

/** Undefined if the text is not one of `originText`. */
export function parseOrigin(text: string): Origin | undefined {
  const [, base, org, epoch = '1'] =
    /^(.+?)\/audit\/(?:org\/([a-z][-a-z0-9]*)\/)?-tlog(?:\/([1-9]\d*))?$/.exec(text) ?? [];
  if (base === undefined) return undefined;
  const origin = { base, ...(org !== undefined && { org }), epoch: Number(epoch) };
  return originText(origin) === text ? origin : undefined;
}
