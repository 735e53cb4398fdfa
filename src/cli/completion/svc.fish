# Completion of svc for fish.

function __svc_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct | string unescape)
    # Variables may be set before the command.
    while string match -qr '^\w+=' -- $words[1]
        set -e words[1]
    end
    set -l answer (command svc __complete $words[2..] "$current" 2>/dev/null)
    if test "$answer" = files
        set -l option (string match -r '^--[^=]+=' -- "$current")
        printf "$option%s\n" (__fish_complete_path (string replace -- "$option" '' "$current"))
    else
        printf '%s\n' $answer
    end
end

complete -c svc -f -a '(__svc_complete)'
