/// `[Descriptor]`.
package struct DescriptorTrigger: Equatable, Sendable {
    package enum Listener: Hashable, Sendable {
        /// `ListenFIFO=`: an absolute path.
        case fifo([UInt8])
        case datagram(SocketAddress)
        case stream(SocketAddress)
        case sequentialPacket(SocketAddress)
        /// `ListenSpecial=`: an absolute path.
        case special([UInt8])
        case netlink(NetlinkFamily)
        /// `ListenMessageQueue=`: `/NAME`.
        case messageQueue([UInt8])
        /// `FileDescriptorName=`: the name under which the service manager passes it.
        case passed(String)
        /// `Command=`: without specifiers. Its standard output is read.
        case command(Command)
        /// `Tail=`: an absolute path.
        case tail([UInt8])
        case pressure(PressureLimit)

        /// Another source with the same one would take away its bytes, or could not be opened.
        package var isExclusive: Bool {
            switch self {
            case .fifo, .datagram, .stream, .sequentialPacket: true
            case .special, .netlink, .messageQueue, .passed, .command, .tail, .pressure: false
            }
        }
    }

    package enum Framing: String, CaseIterable, Sendable {
        case line, datagram
        /// The bytes of one read.
        case chunk
        /// Nothing is read: the handler gets the descriptor.
        case ready
    }

    /// `Ready=`.
    package enum Readiness: String, CaseIterable, Sendable {
        case readable, writable
    }

    package var listener: Listener
    package var framing: Framing
    /// `Framing=` stands in the file; else that of a passed descriptor follows from what it is.
    package var isFramingGiven = true
    /// `MaxLength=`: bytes of one line, datagram or chunk; at least 1. What is longer is cut.
    package var maxLength: Int
    /// `Include=`: a line that matches none of them is refused; empty: none is. The first that matches gives the
    /// captures.
    package var include: [[UInt8]] = []
    /// `Exclude=`: a line that matches one of them is refused.
    package var exclude: [[UInt8]] = []
    /// `SocketMode=`: permission bits of a FIFO, socket file or message queue that watchd makes.
    package var mode: UInt32
    /// `SocketUser=`, `SocketGroup=`: its owner, by name or number; `nil`: watchd's own.
    package var user: String?
    package var group: String?
    /// The launch of a `Command=`.
    package var launch = CommandLaunch()
    /// With `Framing=ready`.
    package var readiness = Readiness.readable
    /// `Accept=yes`: each connection is one event, and the handler gets it.
    package var accepts = false
    /// `MaxConnections=`: those that are open at once; at least 1. More wait in the kernel.
    package var maxConnections = 64

    package init(listener: Listener, framing: Framing, maxLength: Int = 65_536, mode: UInt32 = 0o600) {
        self.listener = listener
        self.framing = framing
        self.maxLength = maxLength
        self.mode = mode
    }

    /// The handler gets a descriptor as standard input and output.
    package var handsOver: Bool { accepts || framing == .ready }
}

/// An address as `systemd.socket(5)` writes it.
package enum SocketAddress: Hashable, Sendable {
    /// `/path`.
    case unix([UInt8])
    /// `@name`, without the `@`.
    case abstract([UInt8])
    /// `1.2.3.4:PORT`.
    case ipv4(address: [UInt8], port: UInt16)
    /// `[::1]:PORT`, or `PORT` alone for every address of both protocols.
    case ipv6(address: [UInt8], port: UInt16)
}

/// `ListenNetlink=`: a family, and a mask of its multicast groups.
package struct NetlinkFamily: Hashable, Sendable {
    /// The names that `systemd.socket(5)` knows, with the numbers of `linux/netlink.h`.
    package static let numbers: [String: Int32] = [
        "route": 0, "firewall": 3, "inet-diag": 4, "nflog": 5, "xfrm": 6, "selinux": 7, "iscsi": 8, "audit": 9,
        "fib-lookup": 10, "connector": 11, "netfilter": 12, "ip6-fw": 13, "dnrtmsg": 14, "kobject-uevent": 15,
        "generic": 16, "scsitransport": 18, "ecryptfs": 19, "rdma": 20,
    ]

    /// One of `numbers`.
    package var name: String
    package var groups: UInt32

    package init(name: String, groups: UInt32) {
        self.name = name
        self.groups = groups
    }
}

/// `Pressure=`: told when tasks were stalled so long within a window (PSI, `Documentation/accounting/psi.rst`).
package struct PressureLimit: Hashable, Sendable {
    package enum Resource: String, CaseIterable, Sendable {
        case memory, cpu, io
    }

    package enum Share: String, CaseIterable, Sendable {
        /// Some tasks, all tasks that are not idle.
        case some, full
    }

    package var resource: Resource
    package var share: Share
    /// Microseconds; at least 1 and at most the window.
    package var stall: Int
    /// Microseconds, 500 ms to 10 s. Without CAP_SYS_RESOURCE the kernel takes multiples of 2 s only.
    package var window: Int

    package init(resource: Resource, share: Share, stall: Int, window: Int) {
        self.resource = resource
        self.share = share
        self.stall = stall
        self.window = window
    }
}
