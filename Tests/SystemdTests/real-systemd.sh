#!/bin/bash
# Boots a real systemd system manager for tests, as process 1 of namespaces of its own (PID, mount, cgroup, UTS, IPC,
# network). Its root is the host's, below an overlay in memory: what is installed and built here is there, and nothing
# that is written there is written here. /tmp, /run and /dev are new. After `stop` nothing is left.
#
#   real-systemd.sh FOLDER start           boot; returns when basic.target is reached (about half a second)
#   real-systemd.sh FOLDER exec CMD…       run a command inside (clean environment, folder /); its output and status
#   real-systemd.sh FOLDER ctl ARG…        the same for `systemctl --no-pager ARG…`
#   real-systemd.sh FOLDER put FROM TO…    copy files of the host, with their modes, to paths inside
#   real-systemd.sh FOLDER stop            shut down as at poweroff, then clean up; fine when nothing runs
#   real-systemd.sh FOLDER kill            the same, as at a loss of power
#
# FOLDER names the instance and must not exist before `start`; it holds only what the script needs to find it again.
# Exit status 77: this machine cannot do it (not root, no cgroup2, no overlayfs, no systemd); one line says why.
# REAL_SYSTEMD_ROOT names another root to boot, such as a debootstrapped release with a newer systemd.
#
# Limits: where the cpu, memory and pids controllers are not on cgroup v2, their limits are accepted and do nothing.
# A file below the host's /tmp or /run is not seen inside: use `put`.
set -u

self=$0
lower=${REAL_SYSTEMD_ROOT:-/}
boot_timeout=30

usage() {
    sed -n '2,/^set -u/{/^set -u/!s/^# \{0,1\}//p}' "$self" >&2
    exit 2
}

die() {
    echo "real-systemd: $*" >&2
    exit 1
}

unavailable() {
    echo "real-systemd: cannot run here: $*" >&2
    exit 77
}

# ---- inside the new namespaces, as their process 1, before the manager takes over ----

mount_kernel_file_systems() {
    local root=$1 path name
    mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
    for path in sys sysrq-trigger irq bus; do
        [ -e "$root/proc/$path" ] || continue
        mount --bind "$root/proc/$path" "$root/proc/$path"
        mount -o remount,bind,ro "$root/proc/$path"
    done
    # A sysfs of the new network namespace if we may, else the host's.
    mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys" 2>/dev/null || mount --rbind -o ro /sys "$root/sys"
    mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$root/sys/fs/cgroup"
    mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
    for name in null zero full random urandom tty; do
        : >"$root/dev/$name"
        mount --bind "/dev/$name" "$root/dev/$name"
    done
    mkdir -p "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root/run"
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"
}

# A small quiet system: nothing that the host has enabled, nothing that waits for hardware or the network.
configure() {
    local etc=$1/etc unit path masked=()
    rm -rf "$etc"/systemd/system/*.wants "$etc"/systemd/user/*.wants "$1"/var/log/journal/*
    for unit in getty.target console-getty.service systemd-udevd.service systemd-udevd-kernel.socket \
        systemd-udevd-control.socket systemd-timesyncd.service systemd-networkd.service systemd-resolved.service \
        systemd-update-utmp.service systemd-random-seed.service systemd-pstore.service systemd-hwdb-update.service \
        systemd-firstboot.service first-boot-complete.target systemd-machine-id-commit.service \
        systemd-journal-catalog-update.service systemd-update-done.service ldconfig.service systemd-sysctl.service \
        systemd-remount-fs.service systemd-modules-load.service systemd-binfmt.service systemd-pcrphase.service \
        systemd-network-generator.service systemd-vconsole-setup.service systemd-ask-password-console.path \
        systemd-ask-password-wall.path kmod-static-nodes.service modprobe@.service dev-hugepages.mount \
        dev-mqueue.mount proc-sys-fs-binfmt_misc.automount sys-kernel-debug.mount sys-kernel-tracing.mount \
        sys-kernel-config.mount sys-fs-fuse-connections.mount tmp.mount; do
        masked+=("$etc/systemd/system/$unit")
    done
    for path in "$1"/usr/lib/systemd/system-generators/*; do
        masked+=("$etc/systemd/system-generators/${path##*/}")
    done
    # An empty file masks like a link to /dev/null, and takes no process.
    mkdir -p "$etc/systemd/system-generators"
    rm -f "${masked[@]}"
    for path in "${masked[@]}"; do : >"$path"; done
    mkdir -p "$etc/systemd/journald.conf.d" "$etc/systemd/system.conf.d"
    printf '[Journal]\nStorage=volatile\nRateLimitIntervalSec=0\nReadKMsg=no\nForwardToWall=no\n' \
        >"$etc/systemd/journald.conf.d/test.conf"
    printf '[Manager]\nDefaultTimeoutStopSec=5s\nDefaultStartLimitIntervalSec=0\n' \
        >"$etc/systemd/system.conf.d/test.conf"
    : >"$etc/fstab"
    echo watchd-test >"$etc/hostname"
    hostname watchd-test
    [ -s "$etc/machine-id" ] || od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$etc/machine-id"
}

become_manager() {
    set -e
    local folder=$1 root=$1/root cuts=-sys_time,-sys_module,-sys_rawio,-wake_alarm,-syslog,-mac_admin
    mount --make-rprivate /
    mount -t tmpfs -o mode=755,size=2G tmpfs "$folder"
    mkdir "$folder/upper" "$folder/work" "$root"
    mount -t overlay overlay -o "lowerdir=$lower,upperdir=$folder/upper,workdir=$folder/work" "$root"
    mount_kernel_file_systems "$root"
    configure "$root"
    ip link set lo up 2>/dev/null || true
    cd "$root"
    mkdir .old
    pivot_root . .old
    cd /
    exec </dev/null
    umount -l /.old
    mount --make-rshared / # systemd leaves this to whoever makes the container
    # As a container manager does: the inner manager must not touch the clock, modules or raw devices.
    exec env -i container=watchd-test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin TERM=dumb LANG=C.UTF-8 \
        setpriv --bounding-set="$cuts" --inh-caps="$cuts" \
        /usr/lib/systemd/systemd --system --unit=basic.target --log-target=journal --show-status=false
}

# ---- on the host ----

check_machine() {
    local tool
    [ "$(id -u)" = 0 ] || unavailable "needs root"
    for tool in unshare nsenter setpriv pivot_root setsid; do
        command -v "$tool" >/dev/null || unavailable "needs $tool"
    done
    [ -x "$lower/usr/lib/systemd/systemd" ] || unavailable "no systemd in $lower"
    grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || unavailable "no overlayfs"
    [ -n "$(cgroup_root)" ] || unavailable "no cgroup2 is mounted"
}

cgroup_root() { awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts; }

start() {
    check_machine
    [ ! -e "$folder" ] || die "$folder exists; is it running?"
    local cgroup outer manager="" deadline=$((SECONDS + boot_timeout))
    cgroup=$(cgroup_root)/watchd-test-$$
    mkdir -m 700 "$folder" || die "cannot make $folder"
    mkdir "$cgroup" 2>/dev/null || { rmdir "$folder"; unavailable "cannot make $cgroup"; }
    echo "$cgroup" >"$folder/cgroup"
    # In its cgroup first: `unshare --cgroup` makes that the root of the namespace.
    # shellcheck disable=SC2016 # the inner shell expands these
    setsid bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - "$cgroup" \
        unshare --mount --pid --fork --kill-child=SIGKILL --cgroup --uts --ipc --net \
        bash "$self" "$folder" become-manager </dev/null >"$folder/console" 2>&1 &
    outer=$!
    echo "$outer" >"$folder/outer"
    until [ -n "$manager" ]; do
        manager=$(awk '{ print $1 }' "/proc/$outer/task/$outer/children" 2>/dev/null)
        [ -n "$manager" ] || [ -d "/proc/$outer" ] || fail_start "the namespaces could not be made"
        [ "$SECONDS" -lt "$deadline" ] || fail_start "the namespaces were not made in $boot_timeout s"
        sleep 0.02
    done
    echo "$manager" >"$folder/manager"
    # The waiting `unshare` would show as process 0 in the inner root cgroup.
    echo "$outer" >"$(cgroup_root)/cgroup.procs" 2>/dev/null
    until [ "$(enter systemctl is-active basic.target 2>/dev/null)" = active ]; do
        [ -d "/proc/$manager" ] || fail_start "the manager died"
        [ "$SECONDS" -lt "$deadline" ] || fail_start "basic.target was not reached in $boot_timeout s"
        sleep 0.05
    done
}

fail_start() {
    cat "$folder/console" >&2
    stop
    die "$*"
}

is_manager() {
    local comm
    [ -n "$1" ] && read -r comm 2>/dev/null <"/proc/$1/comm" && [ "$comm" = systemd ]
}

# Becomes a command inside, in a cgroup of its own below the inner root: descriptor 9 is opened with the host's view of
# the cgroups, and written from inside.
enter() {
    local manager leaf
    read -r manager 2>/dev/null <"$folder/manager" || die "not running"
    is_manager "$manager" || exit 1
    read -r leaf <"$folder/cgroup"
    leaf+=/exec
    [ -d "$leaf" ] || mkdir -p "$leaf" 2>/dev/null
    # shellcheck disable=SC2016 # the inner shell expands these
    exec nsenter --target "$manager" --mount --uts --ipc --net --pid --cgroup --root \
        env -i -C / PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root TERM=dumb LANG=C.UTF-8 \
        SYSTEMD_PAGER= SYSTEMD_COLORS=0 \
        sh -c 'echo 0 >&9; exec 9>&-; exec "$@"' - "$@" 9>"$leaf/cgroup.procs"
}

# The files follow one another on the standard input of a shell inside.
put() {
    local from=() words=() attributes
    while [ $# -gt 0 ]; do
        from+=("$1")
        read -r -a attributes < <(stat -L -c '%a %s' "$1") || return
        words+=("$2" "${attributes[@]}")
        shift 2
    done
    # shellcheck disable=SC2016 # the inner shell expands these
    cat "${from[@]}" | enter sh -ec '
        while [ $# -gt 0 ]; do
            [ -d "${1%/*}/" ] || mkdir -p "${1%/*}"
            head -c "$3" >"$1"
            chmod "$2" "$1"
            shift 3
        done' - "${words[@]}"
}

# Waits up to a number of tenths of a second for a process to end; a zombie has no executable.
wait_gone() {
    local tenths
    for ((tenths = 0; tenths < $2; tenths++)); do
        [ -e "/proc/$1/exe" ] || return 0
        sleep 0.1
    done
    return 1
}

stop() {
    local manager outer cgroup tenths
    [ -f "$folder/cgroup" ] || return 0
    cgroup=$(cat "$folder/cgroup")
    manager=$(cat "$folder/manager" 2>/dev/null)
    outer=$(cat "$folder/outer" 2>/dev/null)
    if is_manager "$manager"; then
        # poweroff.target; or process 1 of its namespace is gone, and all others with it.
        if [ "$verb" = kill ]; then kill -KILL "$manager"; else kill -s SIGRTMIN+4 "$manager"; fi
        wait_gone "$manager" 150 || kill -KILL "$manager"
    fi
    if [ -n "$outer" ] && [ "$(cat "/proc/$outer/comm" 2>/dev/null)" = unshare ]; then
        wait_gone "$outer" 5 || kill -KILL "$outer"
    fi
    [ ! -e "$cgroup/cgroup.kill" ] || echo 1 >"$cgroup/cgroup.kill"
    for ((tenths = 0; tenths < 50; tenths++)); do
        [ ! -d "$cgroup" ] || find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
        [ -d "$cgroup" ] || break
        sleep 0.1
    done
    rm -rf --one-file-system "$folder"
}

[ $# -ge 2 ] || usage
folder=$1
verb=$2
shift 2
case $folder in /*) ;; *) die "$folder: must be an absolute path" ;; esac
case $verb in
become-manager) [ $$ = 1 ] || usage; become_manager "$folder" ;;
start) start ;;
exec) [ $# -ge 1 ] || usage; enter "$@" ;;
ctl) enter systemctl --no-pager "$@" ;;
put) [ $# -ge 2 ] || usage; [ $(($# % 2)) = 0 ] || usage; put "$@" ;;
stop | kill) stop ;;
*) usage ;;
esac
