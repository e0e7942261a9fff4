#!/usr/bin/env bash
# The book of a release beside those before it, on the branch gh-pages: tools/versioned_docs.sh 1.2.0 [--push].
# A final release becomes the latest; a release candidate does not, unless there is none yet.
set -euo pipefail
version=$1
shift
export NO_MKDOCS_2_WARNING=1
if [[ $version =~ [a-z] ]] && mike list latest > /dev/null 2>&1; then
  mike deploy "$@" "$version"
else
  mike deploy "$@" --update-aliases "$version" latest
  mike set-default "$@" latest
fi
