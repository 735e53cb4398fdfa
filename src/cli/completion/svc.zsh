#compdef svc
# Completion of svc for zsh.

_svc() {
  local line about
  local -a lines names shown
  lines=("${(@f)$(command svc __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  if [[ "$lines" == files ]]; then
    compset -P '--*='
    _files
    return
  fi
  for line in $lines; do
    names+=("${line%%$'\t'*}")
    about=${line#*$'\t'}
    shown+=("${names[-1]}${about:+  -- $about}")
  done
  compadd -V svc -l -d shown -a names
}

if [[ $funcstack[1] == _svc ]]; then
  _svc "$@"
else
  compdef _svc svc
fi
