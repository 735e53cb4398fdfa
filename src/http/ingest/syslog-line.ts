/** What a line of syslog says of itself. */
export type SyslogLine = Readonly<Record<string, string>>;

const STRUCTURED = String.raw`-|(?:\[(?:[^\]"\\]|"(?:[^"\\]|\\.)*")*\])+`;
/** RFC 5424. */
const CURRENT = new RegExp(
  String.raw`^<(?<pri>\d{1,3})>\d{1,2} (?<timestamp>\S+) (?<host>\S+) (?<program>\S+) (?<pid>\S+) (?<msgid>\S+) (?<structuredData>${STRUCTURED})(?: (?<message>.*))?$`,
  's',
);
/** RFC 3164, and what rsyslog and syslog-ng write to files and to HTTP unless told otherwise: with a time of RFC 3339. */
const TRADITIONAL =
  /^(?:<(?<pri>\d{1,3})>)?(?<timestamp>[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\S+) (?<host>\S+) (?:(?<program>[^\s:[\]]+)(?:\[(?<pid>[^\]\s]*)\])?: ?)?(?<message>.*)$/s;

const FACILITIES =
  'kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock local0 local1 local2 local3 local4 local5 local6 local7'.split(
    ' ',
  );
const SEVERITIES = 'emerg alert crit err warning notice info debug'.split(' ');

/** The parts of a line of syslog, without those that it does not have. Undefined for another line. */
export function syslogLine(text: string): SyslogLine | undefined {
  const { groups } = CURRENT.exec(text) ?? TRADITIONAL.exec(text) ?? {};
  if (!groups) return undefined;
  const { pri, ...parts } = groups;
  const said = Object.entries(parts).filter(([, part]) => part !== undefined && part !== '' && part !== '-');
  return { ...Object.fromEntries(said), ...(pri !== undefined && priority(Number(pri))) };
}

function priority(pri: number): SyslogLine {
  const facility = FACILITIES[pri >> 3];
  const severity = SEVERITIES[pri & 7];
  return facility === undefined || severity === undefined ? {} : { facility, severity };
}
