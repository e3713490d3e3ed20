/// The message of a service to its manager, in one datagram (`sd_notify(3)`): `KEY=VALUE` lines.
package struct Notification: Hashable, Sendable {
    /// The lines, without a newline at the end.
    package let text: String

    private init(_ text: String) { self.text = text }

    /// Start-up, or a reload, is finished.
    package static let ready = Notification("READY=1")
    /// The daemon stops; nothing takes that back.
    package static let stopping = Notification("STOPPING=1")
    /// The daemon is alive.
    package static let watchdog = Notification("WATCHDOG=1")

    /// A reload begins; `ready` must follow. `now` is the monotonic clock in µs, without which systemd 253 and later
    /// lets a reload of `Type=notify-reload` run into its time-out.
    package static func reloading(now: Int64) -> Notification {
        Notification("RELOADING=1\nMONOTONIC_USEC=\(now)")
    }

    /// One line for `systemctl status`; what would end the line becomes a space, and a long one is cut.
    package static func status(_ line: String) -> Notification {
        let clean = String(
            String.UnicodeScalarView(line.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
        if clean.utf8.count <= longestStatus { return Notification("STATUS=\(clean)") }
        var cut = Substring(clean)
        while cut.utf8.count > longestStatus - ellipsis.utf8.count { cut = cut.dropLast() }
        return Notification("STATUS=\(cut)\(ellipsis)")
    }

    /// Why the daemon fails, as a number of `errno(3)`.
    package static func errno(_ code: Int32) -> Notification { Notification("ERRNO=\(code)") }

    /// The time-out that runs now ends this many µs from now.
    package static func extendTimeout(microseconds: Int64) -> Notification {
        Notification("EXTEND_TIMEOUT_USEC=\(microseconds)")
    }

    /// Both in one datagram.
    package static func + (left: Notification, right: Notification) -> Notification {
        Notification(left.text + "\n" + right.text)
    }

    /// Bytes of a status line. The manager drops a datagram of more than 4 096 bytes (NOTIFY_BUFFER_MAX).
    static let longestStatus = 2048
    private static let ellipsis = "…"
}
