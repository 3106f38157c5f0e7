fail() {
    printf '%s: %s\n' "$name" "$*" >&2
    exit 1
}

misread() {
    printf '%s: %s Run %s --help to see what is legal.\n' "$name" "$*" "$name" >&2
    exit 2
}

# Before anything of it runs.
check_file() {
    for tool in tar gzip sha256sum grep tail head wc mktemp df; do
        command -v "$tool" >/dev/null 2>&1 || fail "this machine lacks the program $tool: install it first."
    done
    # Piped into a shell, the name is the shell's.
    { [ -r "$file" ] && head -c 100 "$file" | grep -q '^# @TITLE@:'; } 2>/dev/null ||
        fail "cannot find itself as '$file': run it as a file, such as sh ./@FILE@."
    size=$(wc -c <"$file")
    [ "$size" -eq $((payload_at + payload_size)) ] ||
        fail "has $((size)) bytes instead of $((payload_at + payload_size)): it was not copied whole; copy it again."
    sum=$(tail -c +$((payload_at + 1)) "$file" | sha256sum)
    [ "${sum%% *}" = "$payload_sha256" ] ||
        fail "its content has the checksum ${sum%% *} instead of $payload_sha256: it is damaged; copy it again."
}
