// Shell scripts: see shell_scripts.h.
#include "apps/cli/command_line/shell_scripts.h"

namespace heddle::cli {
namespace {

constexpr std::string_view kBash = R"(# bash completion of heddle; made by: heddle completion bash
# To use it now: source <(heddle completion bash)
_heddle() {
  local line="${COMP_LINE:0:COMP_POINT}" word="" text base reply=()
  local -a words
  # By spaces only: bash itself takes "key=value" and "host:port" for three words.
  read -ra words <<<"$line"
  case "$line" in *[[:space:]]) words+=("") ;; esac
  word="${words[-1]}"
  base="${word##*[=]}"
  while IFS= read -r text; do
    case "$text" in
      :files) mapfile -t -O "${#reply[@]}" reply < <(compgen -f -P "${word%"$base"}" -- "$base")
        compopt -o filenames 2>/dev/null || true ;;
      :folders) mapfile -t -O "${#reply[@]}" reply < <(compgen -d -P "${word%"$base"}" -- "$base")
        compopt -o filenames 2>/dev/null || true ;;
      :hosts) mapfile -t -O "${#reply[@]}" reply < <(compgen -A hostname -- "$word") ;;
      :programs) mapfile -t -O "${#reply[@]}" reply < <(compgen -c -- "$word") ;;
      :open) compopt -o nospace 2>/dev/null || true ;;
      *) reply+=("${text%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" completion words -- "${words[@]:1}" 2>/dev/null)
  # What stands before the last of these, bash has already.
  local kept="${word%"${word##*[=:]}"}"
  COMPREPLY=("${reply[@]#"$kept"}")
}
complete -F _heddle heddle
)";

constexpr std::string_view kZsh = R"(#compdef heddle
# zsh completion of heddle; made by: heddle completion zsh
# To use it now: source <(heddle completion zsh)
_heddle() {
  local line word about
  local -a found told open
  local files="" folders="" hosts="" programs=""
  local answer
  answer=$(${(Q)words[1]} completion words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  for line in "${(@f)answer}"; do
    case "$line" in
      '') ;;
      :files) files=1 ;;
      :folders) folders=1 ;;
      :hosts) hosts=1 ;;
      :programs) programs=1 ;;
      :open) open=(-S '') ;;
      *)
        word="${line%%$'\t'*}"
        found+=("$word")
        about="${line#"$word"}"
        told+=("$word${about:+ -- ${about#$'\t'}}")
        ;;
    esac
  done
  (( $#found )) && compadd "${open[@]}" -l -d told -- "${found[@]}"
  [[ -n $files$folders ]] && compset -P '*='
  [[ -n $files ]] && _files
  [[ -n $folders ]] && _files -/
  [[ -n $hosts ]] && _hosts
  [[ -n $programs ]] && _command_names -e
  return 0
}
if [ "$funcstack[1]" = "_heddle" ]; then
  _heddle "$@"
else
  compdef _heddle heddle
fi
)";

constexpr std::string_view kFish = R"(# fish completion of heddle; made by: heddle completion fish
# To use it now: heddle completion fish | source
function __heddle_words
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] completion words -- $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current")
            case :folders
                __fish_complete_directories (string replace -r '^--[^=]*=' '' -- "$current")
            case :hosts
                __fish_print_hostnames
            case :programs
                __fish_complete_command
            case :open
            case '*'
                echo $line
        end
    end
end
complete -c heddle -f -a '(__heddle_words)'
)";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return {};
}

}  // namespace heddle::cli
