# fish completion for ikigai. The program knows what may stand where: this script hands it the
# words up to the cursor (ikigai completion --list words).

function __ikigai_offer
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (command ikigai completion --list words -- $words[2..-1] "$current" \
            2>/dev/null </dev/null)
        switch $line
            case :files
                __fish_complete_path "$current"
            case :folders
                __fish_complete_directories "$current" ''
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c ikigai -f -k -a '(__ikigai_offer)'
