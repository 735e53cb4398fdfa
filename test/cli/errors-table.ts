/** What goes wrong with `svc`, for `docs/svc-errors.md`. What svc says is not here: the test asks it. */
export interface ErrorRow {
  readonly command: string;
  readonly why: string;
  readonly next: string;
}

const row = (command: string, why: string, next: string): ErrorRow => ({ command, why, next });

export const SECTIONS: readonly (readonly [title: string, rows: readonly ErrorRow[]])[] = [
  [
    'Who you are',
    [
      row(
        'env -u SVC_ORG -u SVC_TOKEN svc group get',
        'Nothing says which organization is meant.',
        'Log in, or give `--org`.',
      ),
      row('env -u SVC_TOKEN svc group get', 'There is no key to send.', 'Log in, or give `--token`.'),
      row(
        'svc group get --token svc_wrong',
        'The service does not know the key, it has expired, or was revoked.',
        'Log in with a key that is valid; somebody who may can issue one.',
      ),
      row(
        'svc group get --org elsewhere',
        'A key is good in its own organization only.',
        'Use a key of the other organization: `svc login --org`.',
      ),
      row(
        'svc group delete devs --token "$CI_KEY"',
        'The owner of the key lacks the permission.',
        'Ask who may change policies, or use another key.',
      ),
      row(
        'svc group get --token ""',
        'An option without a value is most often a variable that is not set.',
        'Give the key, or leave the option out.',
      ),
      row('SVC_ORG= svc group get', 'A variable without a value is most often a mistake.', 'Set it, or unset it.'),
      row('svc group get --profile nobody', 'There is no profile of that name.', 'See `svc profile get`.'),
      row(
        'svc org create --name other-org',
        'Organizations are made with the root key of the service.',
        'Give `--token "$CONTROL_ROOT_KEY"`.',
      ),
      row('svc org list', 'An organization sees nothing of others.', 'Use the root key.'),
      row('svc rebuild', 'The read model is that of all organizations.', 'Use the root key.'),
      row('svc dead-letter list', 'Dead letters are those of all organizations.', 'Use the root key.'),
    ],
  ],
  [
    'What you typed',
    [
      row('svc grop get', 'There is no such command.', 'Take the suggestion, or see `svc --help`.'),
      row('svc group gett', 'The command has no such subcommand.', 'Take the suggestion, or see `svc group --help`.'),
      row('svc group get --outptu json', 'There is no such option.', 'Take the suggestion.'),
      row('svc group get -o jsn', 'The option takes certain values only.', 'Use one of those that are listed.'),
      row('svc group get --max many', 'The option takes a number.', 'Give a whole number; 0 for all.'),
      row('svc group get --timeout soon', 'The option takes a span.', 'Give a span such as `30s`.'),
      row('svc group get --ts tomorrow', 'The option takes certain values only.', 'Use one of those that are listed.'),
      row('svc group create', 'A group needs a name.', 'Give `--name`, or a file that has one.'),
      row('svc group delete', 'The reference is missing.', 'Name the groups.'),
      row('svc org get acme other', 'There is a word too many.', 'Give one reference.'),
      row('svc group tag devs --tag team', 'A tag is a name and a value.', 'Give `--tag team=core`.'),
      row('svc group tag devs', 'Nothing says what to change.', 'Give `--tag` or `--remove`.'),
      row(
        'svc group update devs --set colour=blue',
        'Only some properties are set this way.',
        'Set one of those, or use `svc group edit`.',
      ),
      row('svc group add-member devs', 'Nothing says who becomes a member.', 'Give `--email` or `--serviceaccount`.'),
      row('svc apply', 'Nothing says what to apply.', 'Give `-f`.'),
      row(
        'svc apply -f - --prune team < /dev/null',
        'Pruning needs the tag that marks what files own.',
        'Give `--prune team=core`.',
      ),
    ],
  ],
  [
    'Groups, users, policies and the like',
    [
      row('svc group get gone', 'There is no such group.', 'See `svc group get`.'),
      row('svc user get gone@example.com', 'There is no such user.', 'See `svc user get`, or invite the person.'),
      row('svc group create --name devs', 'Names are unique.', 'Take another name, or update the group.'),
      row(
        'svc group create --name "Bad Name"',
        'Names have a form, so that links and paths are safe.',
        'Use small letters, digits and dashes.',
      ),
      row(
        'svc group create --name x',
        'Names have a form, so that links and paths are safe.',
        'Use 2 to 63 characters.',
      ),
      row(
        'svc group add-member devs --email nobody@example.com',
        'Only who exists can be a member.',
        'Invite the person: `svc user invite`.',
      ),
      row(
        'svc group add-member devs --serviceaccount gone',
        'Only what exists can be a member.',
        'Create it: `svc serviceaccount create`.',
      ),
      row(
        'svc group tag devs --tag svc/x=1',
        'Tags that begin with `svc/` are those of the service.',
        'Take another name.',
      ),
      row(
        'svc group delete superusers',
        'The service itself needs what is built in.',
        'Leave it; remove its members instead.',
      ),
      row('svc user invite --email nobody', 'An invitation is sent by mail.', 'Give an e-mail address.'),
      row(
        'svc invitation revoke 01890a5d-ac96-774b-bcce-b302099a8057',
        'There is no such invitation, or it was accepted.',
        'See `svc invitation get`.',
      ),
      row(
        'svc serviceaccount remove-key ci --id 01890a5d-ac96-774b-bcce-b302099a8057',
        'There is no such key.',
        'See `svc serviceaccount get ci`.',
      ),
      row(
        'svc policy create --name p1 --target-kind gadget --target all --binding edit=group/devs',
        'Policies are about certain kinds only.',
        'Use one of those that are listed.',
      ),
      row(
        'svc policy create --name p1 --target-kind group --target all --binding edit',
        'A binding is permissions and who gets them.',
        'Give `--binding edit=group/devs`.',
      ),
      row(
        'svc policy create --name p1 --target-kind group --target all --binding fly=group/devs',
        'The kind has no such permission.',
        'See `svc group permissions`.',
      ),
      row(
        'svc domain create --name not_a_host',
        'A domain is a host name, and says what it takes.',
        'Give a full host name, and the rest in a file.',
      ),
    ],
  ],
  [
    'Events and their proofs',
    [
      row('svc audit get gone', 'Events are named by UUIDs.', 'Copy the identifier from `svc audit list`.'),
      row(
        'svc audit get 01890a5d-ac96-774b-bcce-b302099a8057',
        'There is no such event, or it has expired.',
        'Look for it: `svc audit list`.',
      ),
      row(
        'svc audit list --since yesterday',
        'A time is a span, a date or an instant.',
        'Give `1d`, `2024-05-01` or `2024-05-01T12:00:00Z`.',
      ),
      row('svc audit list --page 0', 'Pages are counted from 1.', 'Give `--page 1`.'),
      row(
        'svc audit list --page-size 5',
        'Without pages there is no size of them.',
        'Give `--page`, or use `--max 5`.',
      ),
      row('echo "{}" | svc audit publish -f -', 'An event says what it is about.', 'Give the event a `resource`.'),
      row('echo nonsense | svc audit publish -f -', 'Events are JSON.', 'Send a JSON array, or a JSON object a line.'),
      row(
        'echo x > old.ndjson && svc audit export --file old.ndjson',
        'A file is not overwritten.',
        'Take another name, or give `--force`.',
      ),
      row('svc audit verify gone.ndjson', 'The file cannot be read.', 'Check its name.'),
    ],
  ],
  [
    'Files and connections',
    [
      row('svc group create -f gone.yaml', 'The file cannot be read.', 'Check its name.'),
      row(
        "printf 'name: [\\n' | svc group create -f -",
        'It is neither JSON nor YAML.',
        'Correct the line that is named.',
      ),
      row(
        "printf 'kind: user\\n' | svc group create -f -",
        'The file is of another kind.',
        'Use the command of that kind, or `svc apply`.',
      ),
      row("printf 'kind: gadget\\n' | svc apply -f -", 'Only certain kinds can be declared.', 'Correct `kind`.'),
      row('mkdir empty && svc apply -f empty', 'The folder has no documents.', 'Check the folder.'),
      row(
        'svc group edit devs < /dev/null',
        'An editor needs a person, or a program that stands for one.',
        'Set `EDITOR`, or use `svc group update`.',
      ),
      row(
        'svc group get --endpoint http://127.0.0.1:1',
        'Nothing listens there.',
        'Start the service, or correct the address.',
      ),
      row('svc group get --endpoint nonsense', 'That is no address.', 'Give `http://` or `https://` and a host.'),
    ],
  ],
];
