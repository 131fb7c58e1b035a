#!/bin/sh
# Looks pinned versions up among the known vulnerabilities: sh scripts/audit.sh PIP_AUDIT FILE...
# pip-audit reports no vulnerabilities of packages that its service does not know, and a mirror of PyPI knows none: so a version
# that has some is looked up first, and nothing is concluded where they are not found.
# Ends with 0: none are known; 1: some are, and are listed; 2: not looked up.
set -u
audit=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

listed() { # whether there are some; `found` has the table
    "$audit" --strict --progress-spinner off --disable-pip --no-deps --requirement "$1" >"$folder/found" 2>"$folder/errors"
    code=$?
    grep -qE '(PYSEC|GHSA|CVE)-[0-9a-zA-Z]' "$folder/found"
}
not_done() {
    tail -n 1 "$folder/errors" >&2
    echo "audit: NOT DONE: $1 Run it on a machine that reaches https://pypi.org, or with PIP_AUDIT_VULNERABILITY_SERVICE=osv." >&2
    exit 2
}

echo 'urllib3==1.24.1' >"$folder/known.txt"
listed "$folder/known.txt" || not_done "no vulnerability data here, not even those of urllib3 1.24.1. Nothing is known of the pins."
worst=0
for file in "$@"; do
    if listed "$file"; then worst=1; elif [ $code -ne 0 ]; then not_done "$file could not be looked up."; fi
    echo "== $file"
    cat "$folder/found" "$folder/errors"
done
exit $worst
