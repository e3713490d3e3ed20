/// The form of the value of a `Unit.KEY=`: how it is written, and the type in which the manager takes it.
///
/// The types are those of `org.freedesktop.systemd1(5)`, the spellings those of `systemd.exec(5)` and
/// `systemd.resource-control(5)`; words out of a fixed list are those of systemd 252.
enum UnitForm {
    case flag
    /// A flag, or one of the words, which newer managers take in a property with `Ex` behind its name.
    case flagOrWord([String])
    /// As it is written.
    case text
    /// One of these words; with `yes` among them, or any other spelling of a flag.
    case word([String])
    /// Words.
    case texts
    /// Words, or with `~` before the first all others.
    case filter
    /// A filter of address families; the manager of systemd 252 does not take `none` over the bus.
    case families
    case mode
    /// A size, `infinity`, or a share of the machine's, whose property has `Scale` behind its name.
    case bytes
    case weight
    /// Numbers of processors or memory nodes, and ranges of them.
    case processors
    /// `DEVICE BYTES`.
    case ioLimit
    case addresses
    case capabilities
    /// `SOURCE[:TARGET[:OPTION]]`.
    case binds
    /// `NAME`, or `-NAME`.
    case profile
    case level
    case choice([String: Int32])
    /// A span of time, with the name of its property.
    case span(String)
    case nanoseconds
    case count
    /// `NUMBER%`.
    case share
    case namespaces
    case propagation
    /// `FOLDER`, or `FOLDER:LINK`, whose property has `Symlink` behind its name.
    case folders
    /// `PATH[:OPTIONS]`.
    case temporaryFolders
    /// A hash in hexadecimal numbers, or a file of it, whose property has `Path` behind its name.
    case rootHash
    /// The same, or `base64:…`.
    case rootSignature
    /// `[PARTITION:]OPTIONS`.
    case imageOptions
    /// `[-]IMAGE:TARGET[:PARTITION:OPTIONS…]`.
    case mountedImages
    /// `[-]IMAGE[:PARTITION:OPTIONS…]`.
    case images
    /// `DEVICE RIGHTS`.
    case devices
    /// `DEVICE WEIGHT`.
    case deviceWeight
    /// `DEVICE SPAN`.
    case deviceLatency
    /// `NAME`, or `NAME:PATH`.
    case credential
    /// `NAME:TEXT`.
    case credentialText
    /// `NAME:BASE64`.
    case credentialSecret
    /// `[FAMILY:][PROTOCOL:]PORTS`.
    case sockets
    /// `ATTACHMENT:PATH`.
    case program
    /// `SOURCE:FAMILY:TABLE:SET`.
    case sets
    /// A regular expression, perhaps behind a `~`.
    case linePattern
    /// `NAME=TEXT`.
    case field
    case delegation
    case secureBits
    case errorNumber
    case dumpFilter

    /// Whether the key may be repeated: the manager adds up what it gets.
    var isList: Bool {
        switch self {
        case .texts, .filter, .families, .ioLimit, .addresses, .capabilities, .binds, .temporaryFolders,
            .devices, .deviceWeight, .deviceLatency, .credential, .credentialText, .credentialSecret, .field,
            .folders, .imageOptions, .mountedImages, .images, .sockets, .program, .sets, .linePattern:
            true
        default: false
        }
    }

    /// Behind “is not”.
    var expectation: String {
        switch self {
        case .flag: "yes or no"
        case .flagOrWord(let words): "one of yes, no, \(words.joined(separator: ", "))"
        case .text, .texts: "text"
        case .word(let words): "one of \(words.joined(separator: ", "))"
        case .filter: "a list of names"
        case .families:
            "a list of \(Self.addressFamilies.map { "AF_\($0)" }.joined(separator: ", ")), perhaps behind a ~"
        case .mode: "an access mode from 0000 to 0777"
        case .bytes: "a size such as 64M, or infinity, or a share such as 20%"
        case .weight: "a number from 1 to 10000"
        case .processors: "a list of numbers and ranges, such as 0-3 8"
        case .ioLimit: "a device or path and its bytes or operations a second, such as /dev/sda 5M"
        case .addresses: "a list of addresses with or without /PREFIX, any, localhost, link-local, multicast"
        case .capabilities: "a list of capabilities, such as CAP_CHOWN, perhaps behind a ~"
        case .binds: "a list of SOURCE, SOURCE:TARGET or SOURCE:TARGET:rbind (or norbind)"
        case .profile: "a name, perhaps behind a -"
        case .level: "one of emerg, alert, crit, err, warning, notice, info, debug"
        case .choice(let words): "one of \(words.keys.sorted().joined(separator: ", "))"
        case .span, .nanoseconds: "a time span"
        case .count: "a whole number"
        case .share: "a share, such as 60%"
        case .namespaces: "yes, no, or a list of cgroup, ipc, net, mnt, pid, user, uts, perhaps behind a ~"
        case .propagation: "one of shared, slave, private"
        case .folders: "a list of relative FOLDER, or one of FOLDER:LINK in a line of its own"
        case .temporaryFolders: "a list of PATH or PATH:OPTIONS"
        case .rootHash: "a hash in hexadecimal numbers, or the absolute path of a file with one"
        case .rootSignature: "base64:TEXT, or the absolute path of a file with a signature"
        case .imageOptions: "a list of OPTIONS or PARTITION:OPTIONS, such as root:ro"
        case .mountedImages: "a list of IMAGE:TARGET or IMAGE:TARGET:PARTITION:OPTIONS, with absolute paths"
        case .images: "a list of IMAGE or IMAGE:PARTITION:OPTIONS, with absolute paths"
        case .devices: "a device and what may be done with it, such as /dev/null rw"
        case .deviceWeight: "a device and its weight from 1 to 10000"
        case .deviceLatency: "a device and a time span, such as /dev/sda 25ms"
        case .credential: "NAME, or NAME:PATH"
        case .credentialText: "NAME:TEXT"
        case .credentialSecret: "NAME:BASE64, as systemd-creds encrypt prints it"
        case .sockets: "a list of any, PORT, FIRST-LAST, perhaps behind ipv4: or ipv6:, and tcp: or udp:"
        case .program: "ATTACHMENT:PATH, such as egress:/sys/fs/bpf/program"
        case .sets: "a list of SOURCE:FAMILY:TABLE:SET, such as cgroup:inet:filter:users"
        case .linePattern: "a regular expression, perhaps behind a ~"
        case .field: "NAME=TEXT"
        case .delegation: "yes, no, or a list of controllers"
        case .secureBits:
            "a list of keep-caps, keep-caps-locked, no-setuid-fixup, no-setuid-fixup-locked, noroot, noroot-locked"
        case .errorNumber: "the name of an error, such as EPERM, or its number"
        case .dumpFilter:
            "a hexadecimal number, default, all, or a list of \(Self.memoryKinds.joined(separator: ", "))"
        }
    }

    static let facilities: [String: Int32] = {
        let names = [
            "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
        ]
        let all = names.enumerated().map { ($1, Int32($0)) } + (0..<8).map { ("local\($0)", Int32(16 + $0)) }
        return Dictionary(uniqueKeysWithValues: all)
    }()

    /// Of `Personality=`.
    static let architectures = [
        "arm64", "arm64-be", "arm", "arm-be", "x86", "x86-64", "ppc", "ppc-le", "ppc64", "ppc64-le", "s390", "s390x",
    ]

    /// `AF_…` of `bits/socket.h` (glibc 2.36), without those that are other names of one.
    static let addressFamilies = [
        "UNIX", "INET", "INET6", "NETLINK", "PACKET", "ALG", "APPLETALK", "ASH", "ATMPVC", "ATMSVC", "AX25",
        "BLUETOOTH", "BRIDGE", "CAIF", "CAN", "DECnet", "ECONET", "IB", "IEEE802154", "IPX", "IRDA", "ISDN", "IUCV",
        "KCM", "KEY", "LLC", "MCTP", "MPLS", "NETBEUI", "NETROM", "NFC", "PHONET", "PPPOX", "QIPCRTR", "RDS", "ROSE",
        "RXRPC", "SECURITY", "SMC", "SNA", "TIPC", "VSOCK", "WANPIPE", "X25", "XDP",
    ]

    static let levels = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]

    /// `CLONE_NEW…` of `linux/sched.h`.
    static let namespaceBits: [String: UInt64] = [
        "cgroup": 0x0200_0000, "ipc": 0x0800_0000, "net": 0x4000_0000, "mnt": 0x0002_0000, "pid": 0x2000_0000,
        "user": 0x1000_0000, "uts": 0x0400_0000,
    ]

    /// `SECBIT_…` of `linux/securebits.h`.
    static let securityBits: [String: Int32] = [
        "keep-caps": 16, "keep-caps-locked": 32, "no-setuid-fixup": 4, "no-setuid-fixup-locked": 8, "noroot": 1,
        "noroot-locked": 2,
    ]

    /// In the order of their bits in `/proc/PID/coredump_filter` (`core(5)`).
    static let memoryKinds = [
        "private-anonymous", "shared-anonymous", "private-file-backed", "shared-file-backed", "elf-headers",
        "private-huge", "shared-huge", "private-dax", "shared-dax",
    ]

    /// In the order of `linux/capability.h`.
    static let capabilityNames = [
        "chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap",
        "linux_immutable", "net_bind_service", "net_broadcast", "net_admin", "net_raw", "ipc_lock", "ipc_owner",
        "sys_module", "sys_rawio", "sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin", "sys_boot", "sys_nice",
        "sys_resource", "sys_time", "sys_tty_config", "mknod", "lease", "audit_write", "audit_control", "setfcap",
        "mac_override", "mac_admin", "syslog", "wake_alarm", "block_suspend", "audit_read", "perfmon", "bpf",
        "checkpoint_restore",
    ]

    /// Numbers of `asm-generic/errno-base.h` and `errno.h` that a filter of system calls may answer with.
    static let errors: [String: Int32] = [
        "EPERM": 1, "ENOENT": 2, "EINTR": 4, "EIO": 5, "ENXIO": 6, "EBADF": 9, "EAGAIN": 11, "ENOMEM": 12, "EACCES": 13,
        "EFAULT": 14, "EBUSY": 16, "EEXIST": 17, "ENODEV": 19, "EINVAL": 22, "ENOTTY": 25, "ENOSPC": 28, "EROFS": 30,
        "ENOSYS": 38, "EOPNOTSUPP": 95, "EAFNOSUPPORT": 97,
    ]
}
