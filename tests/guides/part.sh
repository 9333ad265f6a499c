# part PAGE TITLE: what a page has under the heading "## TITLE"; fails where
# there is none.
part() {
  grep -qxF "## $2" "$1" || { echo "$1 has no part \"$2\"" >&2; return 1; }
  awk -v heading="## $2" '
    /^```/ { fenced = !fenced }
    !fenced && /^## / { on = $0 == heading }
    on' "$1"
}

# blocks FOLDER: writes the fenced blocks of the page that it reads: one with
# file=NAME to that file, ```sh run=NAME to NAME.sh and ```sh run to run.sh (the
# blocks of a name one after another), ```text says=NAME to NAME.says, and
# ```... word to the file word.
blocks() {
  awk -v folder="$1" '
    function write_to(name) { file = folder "/" name }
    /^```[a-z]* file=/ { sub(/.*file=/, ""); write_to($0); next }
    /^```sh run=/ { sub(/.*run=/, ""); write_to($0 ".sh"); next }
    /^```sh run/ { write_to("run.sh"); next }
    /^```text says=/ { sub(/.*says=/, ""); write_to($0 ".says"); next }
    /^```[a-z]* word/ { write_to("word"); next }
    /^```/ { file = ""; next }
    file != "" { print >> file }'
}
