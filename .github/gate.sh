#!/usr/bin/env bash
# The gate as action.yml runs it: its verdict as outputs, a comment, the job's summary with a picture, its exit code.
set -uo pipefail
folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/calibration.XXXXXX")
columns=()
[ -n "${Y_TRUE:-}" ] && columns+=(--y-true "$Y_TRUE")
[ -n "${Y_PROB:-}" ] && columns+=(--y-prob "$Y_PROB")
options=("${columns[@]}")
[ -n "${MAX_DISTANCE:-}" ] && options+=(--max-distance "$MAX_DISTANCE")
[ -n "${BY:-}" ] && options+=(--by "$BY")
[ -n "${BASELINE:-}" ] && options+=(--baseline "$BASELINE")
# As a shell would part them, quotes included, and nothing else of a shell: no variable, no command.
while IFS= read -r -d '' each; do
  options+=("$each")
done < <(python -c 'import os, shlex, sys; sys.stdout.write("".join(f"{each}\0" for each in shlex.split(os.environ["ARGUMENTS"])))')

calibrant gate "$PREDICTIONS" "${options[@]}" --junit "$folder/calibration.xml" --summary "$folder/comment.md"
code=$?
case $code in
  0) verdict=within ;;
  1) verdict=beyond ;;
  3) verdict=undecided ;;
  *) verdict=error ;;
esac
if [ ! -s "$folder/comment.md" ]; then
  printf '## Calibration gate: no verdict\n\nExit code %s; the log says why.\n' "$code" > "$folder/comment.md"
fi
{
  echo "verdict=$verdict"
  echo "exit-code=$code"
  echo "comment=$folder/comment.md"
  echo "junit=$folder/calibration.xml"
} >> "${GITHUB_OUTPUT:-/dev/null}"
{
  cat "$folder/comment.md"
  # The page with its picture, where these columns alone are enough for it.
  if [ $verdict != error ] && calibrant audit "$PREDICTIONS" "${columns[@]}" > "$folder/page.txt" 2> /dev/null; then
    printf '\n<details><summary>The page of the audit</summary>\n\n```text\n'
    cat "$folder/page.txt"
    printf '```\n\n</details>\n'
  fi
} >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
exit $code
