# Completion of svc for bash.

# Reads a command line up to the cursor: its words without their quotes, the last one also as it is typed, and the quote
# that is still open. Nothing is expanded. Bash's own words will not do: it ends them at = : and @, too.
_svc_read() {
  local line=$1 char word='' begun=
  local -i at
  words=() raw='' quote=''
  for ((at = 0; at < ${#line}; at++)); do
    char=${line:at:1}
    if [[ -z $quote && $char == [[:space:]] ]]; then
      [[ -z $begun ]] || words+=("$word")
      word='' raw='' begun=
      continue
    fi
    begun=1 raw+=$char
    if [[ -n $quote && $char == "$quote" ]]; then
      quote=''
    elif [[ $char == \\ && $quote != "'" ]]; then
      at+=1
      raw+=${line:at:1} word+=${line:at:1}
    elif [[ -z $quote && $char == [\'\"] ]]; then
      quote=$char
    else
      word+=$char
    fi
  done
  words+=("$word")
}

_svc() {
  local raw quote answer line value prefix=''
  local -a words
  COMPREPLY=()
  _svc_read "${COMP_LINE:0:COMP_POINT}"
  answer=$(command svc __complete "${words[@]:1}" 2>/dev/null)
  if [[ $answer == files ]]; then
    compopt -o default 2>/dev/null
    return
  fi
  # Of an unquoted word, bash replaces what stands behind the last = : or @.
  [[ $raw != *"$2" ]] || prefix=${raw%"$2"}
  while IFS= read -r line; do
    value=${line%%$'\t'*}
    [[ -n $value ]] || continue
    if [[ -z $quote ]]; then
      printf -v value '%q' "$value"
      COMPREPLY+=("${value#"$prefix"}")
    elif [[ $value != *[\\\"\'\`\$\!]* ]]; then
      COMPREPLY+=("$value")
    fi
  done <<<"$answer"
}

complete -F _svc svc
