import type { Command } from "./command.ts";

/** What a shell can complete after a command. */
interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  /** The words that may follow it, such as `list` after `cache`. */
  readonly words: readonly string[];
  /** Whether the name of an endpoint or a tool may follow it. */
  readonly takesEndpoint: boolean;
  readonly options: readonly CompletedOption[];
}

interface CompletedOption {
  /** One letter. */
  readonly short: string | undefined;
  readonly long: string;
  readonly description: string;
  /** What follows it. `other` cannot be completed. */
  readonly value: "none" | "file" | "other" | readonly string[];
}

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The completion script of a shell. The help of each command is its only source. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  const completed = commands.map(completedCommand);
  switch (shell) {
    case "bash":
      return bashScript(completed);
    case "zsh":
      return zshScript(completed);
    case "fish":
      return fishScript(completed);
  }
}

const OPTION = /^ +(?:-(\w), )?--([\w-]+)(?: ([A-Z]+))? +(.+)$/gm;
const LIST = /^[a-z]+(?:(?:, | or )[a-z]+)+/;

function completedCommand({ name, summary, help }: Command): CompletedCommand {
  const [usage = "", ...rest] = help.split("\n\n");
  const lines = [...usage.matchAll(new RegExp(`eider ${name} (.*)`, "g"))].map(([, words = ""]) => words);
  return {
    name,
    summary,
    words: lines
      .flatMap((line) => /^\[?([a-z]+(?: \| [a-z]+)*)(?=\]| \[|$)/.exec(line)?.[1]?.split(" | ") ?? [])
      .filter((word) => word !== "options"),
    takesEndpoint: /\bPATH\b/.test(usage),
    options: [...rest.join("\n\n").matchAll(OPTION)].map(([, short, long = "", value, description = ""]) => ({
      short,
      long,
      description,
      value: optionValue(value, description),
    })),
  };
}

function optionValue(value: string | undefined, description: string): CompletedOption["value"] {
  if (value === undefined) return "none";
  if (value === "FILE") return "file";
  return LIST.exec(description)?.[0].split(/, | or /) ?? "other";
}

/** In single quotes, for any of the shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const namesOf = ({ short, long }: CompletedOption): readonly string[] => [
  ...(short === undefined ? [] : [`-${short}`]),
  `--${long}`,
];

/** The branches for the values of options: `pattern) statement;;`. */
function valueCases(
  commands: readonly CompletedCommand[],
  statement: (value: "file" | "other" | readonly string[]) => string,
): readonly string[] {
  const cases = new Map<string, string>();
  for (const { options } of commands) {
    for (const option of options)
      if (option.value !== "none") cases.set(namesOf(option).join("|"), statement(option.value));
  }
  return [...cases].map(([pattern, text]) => `    ${pattern}) ${text} ;;`);
}

function bashScript(commands: readonly CompletedCommand[]): string {
  const options = commands.map(
    (each) => `      ${each.name}) list=${quote(each.options.flatMap(namesOf).join(" "))} ;;`,
  );
  const words = commands
    .filter((each) => each.words.length > 0)
    .map((each) => `      ${each.name}) list=${quote(each.words.join(" "))} ;;`);
  return `# bash completion for eider. In ~/.bashrc: eval "$(eider completion bash)"
_eider() {
  local line="\${COMP_LINE:0:COMP_POINT}" list="" typed config="" i
  read -ra typed <<< "$line"
  case "$line" in *[[:space:]]) typed+=("") ;; esac
  local count=\${#typed[@]}
  local word="\${typed[count-1]}" previous="\${typed[count-2]}" command="\${typed[1]}"
  COMPREPLY=()
  if (( count == 2 )); then list=${quote(commands.map(({ name }) => name).join(" "))}
  else case "$previous" in
${valueCases(commands, (value) => (value === "file" ? "compopt -o default; return" : value === "other" ? "return" : `list=${quote(value.join(" "))}`)).join("\n")}
    *) case "$word" in
    -*) case "$command" in
${options.join("\n")}
    esac ;;
    *) case "$command" in
${words.join("\n")}
      ${commands.flatMap((each) => (each.takesEndpoint ? each.name : [])).join("|")})
        for (( i = 2; i < count - 1; i++ )); do
          case "\${typed[i]}" in
            /*) return ;;
            -c|--config) config="\${typed[++i]}" ;;
          esac
        done
        list="$("\${typed[0]}" completion names \${config:+--config "$config"} 2>/dev/null)" ;;
    esac ;;
    esac ;;
  esac
  fi
  COMPREPLY=($(compgen -W "$list" -- "$word"))
  # Bash completes only what follows a colon or an equals sign.
  case "$word" in *[:=]*) COMPREPLY=("\${COMPREPLY[@]#"\${word%"\${word##*[:=]}"}"}") ;; esac
}
complete -F _eider eider
`;
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const described = (name: string, text: string): string => quote(`${name.replaceAll(":", "\\:")}:${text}`);
  const options = commands.map((each) => {
    const list = each.options.flatMap((option) => namesOf(option).map((name) => described(name, option.description)));
    return `      ${each.name}) list=(${list.join(" ")}) ;;`;
  });
  const words = commands
    .filter((each) => each.words.length > 0)
    .map((each) => `    ${each.name}) compadd -- ${each.words.join(" ")} ;;`);
  return `#compdef eider
# zsh completion for eider. In ~/.zshrc, after compinit: eval "$(eider completion zsh)"
_eider() {
  local word=\${words[CURRENT]} previous=\${words[CURRENT-1]} command=\${words[2]} config="" i
  local -a list
  if (( CURRENT == 2 )); then
    list=(${commands.map(({ name, summary }) => described(name, summary)).join(" ")})
    _describe command list
    return
  fi
  case $previous in
${valueCases(commands, (value) => (value === "file" ? "_files; return" : value === "other" ? "return" : `compadd -- ${value.join(" ")}; return`)).join("\n")}
  esac
  if [[ $word == -* ]]; then
    case $command in
${options.join("\n")}
    esac
    _describe option list
    return
  fi
  case $command in
${words.join("\n")}
    ${commands.flatMap((each) => (each.takesEndpoint ? each.name : [])).join("|")})
      for (( i = 3; i < CURRENT; i++ )); do
        case \${words[i]} in
          /*) return ;;
          -c|--config) config=\${words[++i]} ;;
        esac
      done
      compadd -- \${(f)"$(\${words[1]} completion names \${config:+--config} \${config:+$config} 2>/dev/null)"} ;;
  esac
}
if [[ $funcstack[1] == _eider ]]; then _eider "$@"; else compdef _eider eider; fi
`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, summary, words, takesEndpoint, options }) => {
    const after = `complete -c eider -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c eider -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
      ...(words.length === 0 ? [] : [`${after} -a ${quote(words.join(" "))}`]),
      ...(takesEndpoint ? [`${after} -a '(__eider_names)'`] : []),
      ...options.map(({ short, long, description, value }) => {
        const letter = short === undefined ? "" : ` -s ${short}`;
        const kind =
          value === "none"
            ? ""
            : value === "file"
              ? " -r -F"
              : value === "other"
                ? " -x"
                : ` -x -a ${quote(value.join(" "))}`;
        return `${after}${letter} -l ${long}${kind} -d ${quote(description)}`;
      }),
    ];
  });
  return `# fish completion for eider. In ~/.config/fish/config.fish: eider completion fish | source
function __eider_names
  set -l words (commandline -opc)
  set -l at (contains -i -- --config $words; or contains -i -- -c $words)
  set -l config
  if test -n "$at"
    set config --config $words[(math $at + 1)]
    set -e words[(math $at + 1)]
  end
  if not string match -q -- '/*' $words[3..-1]
    $words[1] completion names $config 2>/dev/null
  end
end
complete -c eider -f
${lines.join("\n")}
`;
}
