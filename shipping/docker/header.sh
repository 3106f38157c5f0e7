#!/bin/sh
# metax-docker @VERSION@: installs itself on a host with Docker. `--help` says how.
#
# Behind this script lies a folder with metax-docker and the Python it runs on, so that a host needs neither Python nor
# a network. The folder gets its name, and the command its link, when everything in it has been found to work.
set -eu

version='@VERSION@'
architecture=@ARCHITECTURE@
payload_at=@PAYLOAD_AT@
payload_size=@PAYLOAD_SIZE@
payload_sha256=@PAYLOAD_SHA256@
needed_kb=@NEEDED_KB@

file=$0
name=${file##*/}
prefix=
task=
stage=
fresh=
lock=

usage() {
    cat <<END
Usage: $name [--upgrade] [--prefix DIR]
       $name --uninstall [--prefix DIR]
       $name --check [--prefix DIR]

Installs metax-docker $version for $architecture: to /opt/metax-docker-$version, with
the command /usr/bin/metax-docker. Needs root, $((needed_kb / 1024 + 1)) MB, and neither Python nor a network.

  --upgrade     replace another version; without one installed, install
  --uninstall   remove every version that such a file has installed
  --check       say whether this file is whole and fits this machine, and
                whether what is installed is as it was installed; change nothing
  --prefix DIR  install to DIR/lib/metax-docker-$version and DIR/bin instead;
                needs no root where DIR is yours
  --version     $version

Exit status: 0 done, 1 it could not be done, 2 the command line could not be read.
END
}

@COMMON@

say() {
    printf '%s\n' "$*"
}

clean() {
    [ -z "$stage" ] || rm -rf "$stage"
    [ -z "$fresh" ] || rm -f "$fresh"
    [ -z "$lock" ] || rm -f "$lock"
}

choose() {
    [ -z "$task" ] || [ "$task" = "$1" ] || misread "--$task and --$1 are two wishes: name one."
    task=$1
}

set_prefix() {
    case $1 in
    *[!A-Za-z0-9._/@+\ -]*) misread "--prefix is '$1': letters, digits and ._@+- are what its name may have here." ;;
    /*) ;;
    *) misread "--prefix is '$1': it is a whole path, such as /usr/local." ;;
    esac
    prefix=${1%/}
    [ -n "$prefix" ] || misread "--prefix is '$1': name a folder below it, such as /usr/local."
}

find_places() {
    case $prefix in
    '') base=/opt bin=/usr/bin ;;
    *) base=$prefix/lib bin=$prefix/bin ;;
    esac
    target=$base/metax-docker-$version
    link=$bin/metax-docker
}

# The version that the link stands for; nothing if there is no link of ours.
linked() {
    [ -L "$link" ] || return 0
    led=$(readlink "$link")
    case $led in
    "$base"/metax-docker-*/bin/metax-docker)
        led=${led#"$base/metax-docker-"}
        printf '%s' "${led%/bin/metax-docker}"
        ;;
    esac
}

is_ours() {
    [ -d "$1" ] && [ ! -L "$1" ] && [ -f "$1/metax-docker.version" ]
}

is_whole() {
    is_ours "$1" && [ -f "$1/bin/metax-docker" ] && (cd "$1" && sha256sum -c SHA256SUMS >/dev/null 2>&1)
}

check_machine() {
    machine=$(uname -m)
    case $machine in
    @MACHINE@ | @ARCHITECTURE@) ;;
    *) fail "is for @ARCHITECTURE@ (@MACHINE@), and this machine is $machine: take the file for it out of the same archive." ;;
    esac
}

check_rights() {
    [ -n "$prefix" ] || [ "$(id -u)" -eq 0 ] ||
        fail "writes to $base and $bin, which only root may: run it with sudo, or with --prefix DIR for a folder of yours."
}

check_nobody_elses() {
    if [ -e "$link" ] || [ -L "$link" ]; then
        [ -n "$(linked)" ] ||
            fail "$link is there and not of this installer: remove it first (dpkg -S or rpm -qf say whose it is), or name another place with --prefix DIR."
    fi
    { [ ! -e "$target" ] && [ ! -L "$target" ]; } || is_ours "$target" ||
        fail "$target is there and not of this installer: move it away first."
}

check_room() {
    place=$base
    while [ ! -d "$place" ]; do
        above=${place%/*}
        place=${above:-/}
    done
    free=$(df -Pk "$place" 2>/dev/null | { read -r _; read -r _ _ _ found _; echo "$found"; }) || free=
    case $free in
    '' | *[!0-9]*) ;; # A file system that does not count: unpacking will tell.
    *)
        [ "$free" -ge $((needed_kb)) ] ||
            fail "needs $((needed_kb / 1024 + 1)) MB in $place, which has $((free / 1024)) MB: make room, or name another place with --prefix DIR."
        ;;
    esac
}

only_one() {
    { [ -d "$base" ] && (: >>"$base/.metax-docker.lock") 2>/dev/null; } ||
        fail "cannot write into $base: see whether the disk may be written, or name another place with --prefix DIR."
    lock=$base/.metax-docker.lock
    command -v flock >/dev/null 2>&1 || return 0
    exec 9>>"$lock"
    flock -n 9 || {
        lock=
        fail "another file of metax-docker works in $base: run this again when it is done."
    }
}

unpack() {
    mkdir -p "$base" "$bin" 2>/dev/null || fail "cannot make $base and $bin: see whether the disk may be written."
    only_one
    # What an installation that was killed has left.
    rm -rf "$base"/.metax-docker.?????? "$bin"/.metax-docker.link
    stage=$(mktemp -d "$base/.metax-docker.XXXXXX" 2>/dev/null) || {
        stage=
        fail "cannot make a folder in $base: see whether the disk may be written, or name another place with --prefix DIR."
    }
    chmod 755 "$stage"
    # Where the signal of a closed pipe is ignored (in services, say), tail would complain that head has had enough.
    tail -c +$((payload_at + 1)) "$file" 2>/dev/null | gzip -dc 2>/dev/null | tar -xof - -C "$stage" 2>/dev/null ||
        fail "could not unpack into $base: see whether the disk is full; nothing was changed."
    mkdir "$stage/bin"
    write_launcher >"$stage/bin/metax-docker" || fail "could not write into $base: see whether the disk is full; nothing was changed."
    chmod 755 "$stage/bin/metax-docker"
    is_whole "$stage" || fail "what was unpacked into $base is not what was packed: see whether the disk is full or failing; nothing was changed."
    said=$("$stage/@LOADER@" --inhibit-cache --library-path "$stage/@LIBRARIES@" "$stage/usr/bin/python@PYTHON@" \
        -I -B -c 'import tangram.cli.docker.entry' 2>&1 </dev/null) ||
        fail "what it brings does not start from $base, which may be mounted noexec; nothing was changed ($(printf '%s' "$said" | tail -n 1))."
}

# The loader is named so that our own libraries come first, and no setting of Python is heeded; those of the machine are
# found behind them, because the vendors' libraries, which read the cards, need some. What docker is started with is
# untouched: its libraries are found by a word, not by a variable.
write_launcher() {
    cat <<END
#!/bin/sh
# metax-docker $version, started with the Python it brought.
here='$target'
unset LD_PRELOAD
exec "\$here/@LOADER@" --library-path "\$here/@LIBRARIES@" \\
    "\$here/usr/bin/python@PYTHON@" -I -B -X utf8 "\$here/usr/local/bin/metax-docker" "\$@"
END
}

put_in_place() {
    if [ -e "$target" ]; then
        old=$base/.metax-docker.before
        rm -rf "$old"
        mv "$target" "$old"
    fi
    mv "$stage" "$target" || fail "could not give $target its name."
    stage=
    # One step for whoever calls the command meanwhile: it is the old one or the new one.
    fresh=$bin/.metax-docker.link
    ln -s "$target/bin/metax-docker" "$fresh" || fail "could not make a link in $bin; $target is there without one."
    mv -f "$fresh" "$link" || fail "could not make $link; $target is there without it."
    fresh=
    rm -rf "$base/.metax-docker.before"
}

remove_others() {
    for one in "$base"/metax-docker-*; do
        if is_ours "$one" && [ "$one" != "${1-}" ]; then
            rm -rf "$one" || fail "could not remove $one: remove it by hand."
        fi
    done
}

install_it() {
    check_rights
    check_file
    check_machine
    check_nobody_elses
    before=$(linked)
    if [ -n "$before" ] && [ "$before" != "$version" ] && [ "$task" != upgrade ]; then
        fail "metax-docker $before is installed: write --upgrade to put $version in its place."
    fi
    if [ "$before" = "$version" ] && is_whole "$target"; then
        remove_others "$target"
        say "metax-docker $version is installed already, and whole."
        return
    fi
    check_room
    unpack
    put_in_place
    remove_others "$target"
    case $before in
    '') say "metax-docker $version is installed: $link" ;;
    "$version") say "metax-docker $version was damaged and is installed again: $link" ;;
    *) say "metax-docker $version is installed in place of $before: $link" ;;
    esac
    for engine in docker podman nerdctl; do
        ! command -v "$engine" >/dev/null 2>&1 || return 0
    done
    say "It needs Docker 19.03 or newer (or podman, or nerdctl), which is not here yet."
}

uninstall_it() {
    check_rights
    [ ! -d "$base" ] || only_one
    before=$(linked)
    found=$before
    if [ -n "$before" ]; then
        # What it wrote itself: the CDI file of `setup`, which a damaged one cannot remove, and what it remembered.
        if [ -z "$prefix" ]; then
            "$link" setup --remove >/dev/null 2>&1 </dev/null || :
            rm -rf /run/metax-docker
        fi
        rm -f "$link" || fail "could not remove $link: remove it by hand."
    fi
    for one in "$base"/metax-docker-*; do
        ! is_ours "$one" || found=yes
    done
    remove_others
    rm -rf "$base"/.metax-docker.?????? "$bin"/.metax-docker.link
    if [ -n "$found" ]; then
        say "metax-docker is removed from $base and $bin."
    else
        say "metax-docker is not installed in $base: there is nothing to remove."
    fi
}

check_it() {
    check_file
    check_machine
    check_nobody_elses
    before=$(linked)
    case $before in
    '')
        check_room
        say "$name is whole, and for this machine."
        say "metax-docker is not installed in $base, and there is room for it."
        ;;
    *)
        is_whole "$base/metax-docker-$before" ||
            fail "metax-docker $before, which is installed, is not what was installed: run the file of a version you want with --upgrade."
        say "$name is whole, and for this machine."
        say "metax-docker $before is installed, and whole."
        ;;
    esac
}

while [ $# -gt 0 ]; do
    case $1 in
    --upgrade | --uninstall | --check) choose "${1#--}" ;;
    --prefix)
        [ $# -ge 2 ] || misread "--prefix needs a folder."
        set_prefix "$2"
        shift
        ;;
    --prefix=*) set_prefix "${1#--prefix=}" ;;
    -h | --help)
        usage
        exit 0
        ;;
    --version)
        say "$version"
        exit 0
        ;;
    *) misread "'$1' is not known here." ;;
    esac
    shift
done

trap clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
umask 022
find_places

case $task in
uninstall) uninstall_it ;;
check) check_it ;;
*) install_it ;;
esac
exit 0
