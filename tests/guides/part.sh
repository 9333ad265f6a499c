# part PAGE TITLE: what a page has under the heading "## TITLE"; fails where
# there is none.
part() {
  grep -qxF "## $2" "$1" || { echo "$1 has no part \"$2\"" >&2; return 1; }
  awk -v heading="## $2" '
    /^```/ { fenced = !fenced }
    !fenced && /^## / { on = $0 == heading }
    on' "$1"
}
