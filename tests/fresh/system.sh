# shellcheck shell=sh
# A fresh system in a folder, for the scripts beside this one, which source it and call
#
#   begin_system SUITE              makes a Debian system in $system; gone when the script ends,
#                                   unless $keep is not empty
#   begin_musl                      the same with musl and busybox alone, without glibc
#   end_system                      removes it before the script ends, for another one
#   inside [NAME=VALUE]... COMMAND  runs a command in it, as root, without a terminal
#   inside_as USER COMMAND          the same, as a user with a home
#   say TEXT                        what comes next
#
# A script can define at_leave, which is called first when it ends.
#
# Needs root and debootstrap. MIRROR and the proxy come from the settings of this machine's apt,
# which are copied.
me=tests/fresh/${0##*/}
keep='' system=''
begin=$(date +%s)
say() {
    echo "== $(($(date +%s) - begin)) s: $*"
}

# The folder becomes the root of a mount namespace: in a mere chroot the kernel allows no user
# namespaces, and tools would be confined less than on a real system.
inside() {
    # shellcheck disable=SC2016
    unshare --mount sh -c 'cd "$0" && pivot_root . . && umount -l . && exec chroot . "$@"' "$system" \
        env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@" < /dev/null
}

inside_as() {
    user=$1
    shift
    inside setpriv --reuid "$user" --regid "$user" --init-groups env HOME="/home/$user" "$@"
}

at_leave() {
    :
}

leave() {
    status=$?
    trap - EXIT INT TERM
    set +e
    at_leave
    end_system
    exit $status
}

end_system() {
    if [ -z "$system" ]; then return 0; fi
    # An interrupted run leaves processes behind, and they hold the mounts.
    find -L /proc/[0-9]*/root -maxdepth 0 -samefile "$system" 2> /dev/null |
        while IFS=/ read -r _ _ process _; do kill -KILL "$process"; done
    sleep 1
    for mount in dev/pts dev/shm sys proc; do
        if mountpoint -q "$system/$mount"; then umount "$system/$mount"; fi
    done
    if mountpoint -q "$system"; then umount "$system"; fi
    # Never remove a folder in which something is still mounted.
    if [ -n "$keep" ] || grep -q " ${system}[ /]" /proc/mounts; then
        echo "$me: the system stays in $system" >&2
    else
        rm -rf "$system"
    fi
    system=''
}

install_base() {
    # The first Debian archive that apt uses here, in the one-line or the deb822 form.
    mirror=${MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null |
        grep -Eo '(https?|file)://[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' ')}
    proxy=$(apt-config dump --format '%v' Acquire::http::Proxy 2> /dev/null || true)
    # shellcheck disable=SC2086
    env ${proxy:+http_proxy="$proxy"} debootstrap --variant=minbase "$1" "$system" \
        ${mirror:+"$mirror"} > "$system.log" 2>&1 || {
        tail -n 20 "$system.log" >&2
        exit 1
    }
    rm -f "$system.log"
}

copy_settings() {
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|Check-Valid)' \
        > "$system/etc/apt/apt.conf.d/99fresh" || true
    for file in /etc/resolv.conf /etc/hosts; do
        if [ -e $file ]; then cp -L $file "$system$file"; fi
    done
}

mount_kernel() {
    mount -t proc proc "$system/proc"
    mount -t sysfs -o ro sysfs "$system/sys"
    mkdir -p "$system/dev/pts" "$system/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$system/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
    if [ ! -L "$system/dev/ptmx" ]; then ln -sf pts/ptmx "$system/dev/ptmx"; fi
}

begin_folder() {
    if [ "$(id -u)" != 0 ] || ! command -v debootstrap > /dev/null; then
        echo "$me: needs root and debootstrap" >&2
        exit 2
    fi
    # Not /tmp: that is often small, or mounted without the right to run programs.
    system=$(mktemp -d "${TMPDIR:-/var/tmp}/ikigai-fresh-XXXXXX")
    chmod 755 "$system"
    trap leave EXIT
    trap 'exit 130' INT TERM
    # A root folder that is a mount point, as on a real system: tests that mount need it.
    mount --bind "$system" "$system"
    mount --make-private "$system"
}

begin_system() {
    begin_folder
    say "base system $1"
    install_base "$1"
    copy_settings
    mount_kernel
    inside apt-get -qq update
}

# The packages come from this machine's own archive.
begin_musl() {
    begin_folder
    say "musl and busybox"
    mkdir "$system/packages"
    (cd "$system/packages" && apt-get -qq download musl busybox-static 2> /dev/null)
    for package in "$system"/packages/*.deb; do dpkg-deb -x "$package" "$system"; done
    rm -r "$system/packages"
    mkdir -p "$system/proc" "$system/sys" "$system/dev" "$system/usr/bin" "$system/usr/sbin"
    mkdir -p "$system/root" "$system/etc" "$system/home"
    mkdir -m 1777 "$system/tmp"
    for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
        numbers=${device#*:}
        mknod -m 666 "$system/dev/${device%%:*}" c "${numbers%:*}" "${numbers#*:}"
    done
    chroot "$system" /bin/busybox --install
    echo root:x:0:0::/root:/bin/sh > "$system/etc/passwd"
    echo someone:x:1000:1000::/home/someone:/bin/sh >> "$system/etc/passwd"
    printf 'root:x:0:\nsomeone:x:1000:\n' > "$system/etc/group"
    echo 127.0.0.1 localhost > "$system/etc/hosts"
    mkdir "$system/home/someone"
    chown 1000:1000 "$system/home/someone"
    if find "$system" -name 'libc.so.6' -o -name 'ld-linux*' | grep -q .; then
        echo "$me: there is a glibc in $system" >&2
        exit 1
    fi
    mount_kernel
}
