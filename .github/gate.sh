#!/usr/bin/env bash
# The gate as action.yml runs it: its verdict as outputs, a comment, the job's summary with a picture, its exit code.
set -uo pipefail
folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/calibration.XXXXXX")
options=()
[ -n "${Y_TRUE:-}" ] && options+=(--y-true "$Y_TRUE")
[ -n "${Y_PROB:-}" ] && options+=(--y-prob "$Y_PROB")
[ -n "${MAX_DISTANCE:-}" ] && options+=(--max-distance "$MAX_DISTANCE")
[ -n "${BY:-}" ] && options+=(--by "$BY")
gated=()
[ -n "${BASELINE:-}" ] && gated+=(--baseline "$BASELINE")
gated+=(--junit "$folder/calibration.xml" --summary "$folder/comment.md")
# As a shell would part them, quotes included, and nothing else of a shell: no variable, no command.
parted='import os, shlex, sys; sys.stdout.write("".join(f"{each}\0" for each in shlex.split(os.environ.get("ARGUMENTS", ""))))'
if python -c "$parted" > "$folder/arguments"; then
  while IFS= read -r -d '' each; do
    options+=("$each")
  done < "$folder/arguments"
  # Bash before 4.4 takes an empty array for a variable that is not set.
  calibrant gate ${options[@]+"${options[@]}"} "${gated[@]}" -- "$PREDICTIONS"
  code=$?
else
  echo "arguments: cannot be parted as a shell would part them: ${ARGUMENTS:-}" >&2
  code=2
fi
if [ ! -s "$folder/comment.md" ]; then # whatever the exit code is, as of --help, there is no verdict
  [ $code = 0 ] || [ $code = 1 ] || [ $code = 3 ] && code=2
  printf '## Calibration gate: no verdict\n\nExit code %s; the log says why.\n' "$code" > "$folder/comment.md"
fi
case $code in
  0) verdict=within ;;
  1) verdict=beyond ;;
  3) verdict=undecided ;;
  *) verdict=error ;;
esac
{
  echo "verdict=$verdict"
  echo "exit-code=$code"
  echo "comment=$folder/comment.md"
  echo "junit=$folder/calibration.xml"
} >> "${GITHUB_OUTPUT:-/dev/null}"
{
  cat "$folder/comment.md"
  # The page with its picture, of the same rows: not where the audit does not know an option of the gate's.
  if [ $verdict != error ]; then
    calibrant audit ${options[@]+"${options[@]}"} -- "$PREDICTIONS" > "$folder/page.txt" 2> /dev/null
    page=$?
  fi
  if [ "${page:-2}" = 0 ] && [ "$(head -c 1 "$folder/page.txt")" != "{" ]; then
    printf '\n<details><summary>The page of the audit</summary>\n\n```text\n'
    cat "$folder/page.txt"
    printf '```\n\n</details>\n'
  fi
} >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
exit $code
