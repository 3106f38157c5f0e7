#!/bin/sh
# Tangram @VERSION@: pushes its images to a registry, or loads them on a node. `--help` says how.
#
# The images lie behind this script. They bring their own Python, so a machine needs nothing of the kind: the part
# that runs here is unpacked into a temporary folder and removed at the end. Nothing else is written.
set -eu

version='@VERSION@'
payload_at=@PAYLOAD_AT@
payload_size=@PAYLOAD_SIZE@
payload_sha256=@PAYLOAD_SHA256@

file=$0
name=${file##*/}
folder=
child=

usage() {
    cat <<END
Usage: $name push DOMAIN/PROJECT [OPTIONS]
       $name load [OPTIONS]
       $name list [OPTIONS]
       $name verify [DOMAIN/PROJECT] [OPTIONS]

Images of Tangram $version for amd64 and arm64.

  push   to a registry; log in first: docker login DOMAIN
  load   into the container runtime of this node, as root
  list   what is in this file
  verify whether this file is whole, and whether a registry has what is in it

With --archive FILE the same for another file of images, such as a driver's
payload (tangram images payload) or MetaX's file of an MXMACA image.

Options of a command: $name COMMAND --help
Unpacks about @UNPACKED_MB@ MB below \${TMPDIR:-/tmp} while it runs.
Exit status: 0 done, 1 it could not be done, 2 the command line could not be read.
END
}

@COMMON@

clean() {
    [ -z "$folder" ] || rm -rf "$folder"
}

stopped() {
    trap '' HUP INT TERM
    if [ -n "$child" ]; then
        kill "$child" 2>/dev/null || :
        wait "$child" 2>/dev/null || :
        # Stopped in the middle of a progress bar, it leaves the cursor hidden.
        [ ! -t 2 ] || printf '\033[?25h' >&2
    fi
    exit "$1"
}

# layer OFFSET SIZE PATH...: unpack these paths of one layer of the image.
layer() {
    at=$((payload_at + $1))
    size=$2
    shift 2
    # Where the signal of a closed pipe is ignored (in services, say), tail would complain that head has had enough.
    tail -c +$((at + 1)) "$file" 2>/dev/null | head -c "$size" | gzip -dc | tar -xof - -C "$folder" "$@" ||
        fail "could not unpack into $folder: see whether the disk is full, or set TMPDIR to a folder with more room."
}

@ARCHITECTURES@

choose_architecture() {
    machine=$(uname -m)
    case $machine in
@CASES@
    *) fail "this machine is of the architecture $machine: the images are for @MACHINES@; run this on one of these." ;;
    esac
}

make_folder() {
    base=${TMPDIR:-/tmp}
    case $base in
    *[:\;]*) fail "cannot run from $base: these characters end a folder's name for the loader; set TMPDIR to another." ;;
    esac
    umask 077
    folder=$(mktemp -d "$base/tangram-images.XXXXXX" 2>/dev/null) || {
        folder=
        fail "cannot make a folder in $base: set TMPDIR to one that can be written."
    }
    free=$(df -Pk "$folder" 2>/dev/null | { read -r _; read -r _ _ _ found _; echo "$found"; }) || free=
    case $free in
    '' | *[!0-9]*) ;; # A file system that does not count: unpacking will tell.
    *)
        [ "$free" -ge $((needed_kb)) ] ||
            fail "needs $((needed_kb / 1024 + 1)) MB in $base, which has $((free / 1024)) MB: set TMPDIR to a folder with more."
        ;;
    esac
    printf '#!/bin/sh\nexit 0\n' >"$folder/probe"
    chmod 700 "$folder/probe"
    "$folder/probe" 2>/dev/null ||
        fail "programs cannot be run from $base, which is mounted noexec: set TMPDIR to a folder where they can."
}

case ${1-} in
push | load | list | verify)
    task=$1
    shift
    ;;
-h | --help | help)
    usage
    exit 0
    ;;
--version)
    printf '%s\n' "$version"
    exit 0
    ;;
'') misread "what to do is missing: push, load, list or verify." ;;
*) misread "'$1' is no command: it is push, load, list or verify." ;;
esac

trap clean EXIT
trap 'stopped 129' HUP
trap 'stopped 130' INT
trap 'stopped 143' TERM

check_file
choose_architecture
make_folder
unpack
# A link to a file of the machine, which is none of ours.
rm -f "$folder/usr/lib/python@PYTHON@/sitecustomize.py"

# In the background, because a shell heeds signals only while it waits; standard input is handed on by hand for the
# same reason. The loader is named so that no library of the machine is taken, and no setting of Python is heeded.
(: 3<&0) 2>/dev/null || exec 0</dev/null
# Payloads of drivers and MXMACA are files of their own, and this is the tool for them too.
own=yes
for word in "$@"; do
    case $word in --archive | --archive=*) own= ;; esac
done
exec 3<&0
LD_PRELOAD='' OPENSSL_CONF=/dev/null "$folder/$loader" --inhibit-cache --library-path "$folder/$libraries" \
    "$folder/usr/bin/python@PYTHON@" -I -B -X utf8 "$folder/usr/local/bin/tangram" \
    images "$task" ${own:+--archive "$file"} "$@" <&3 &
child=$!
status=0
wait "$child" || status=$?
child=
exit "$status"
