/// Where the control socket is when nobody says: one rule for the daemon, which makes it, and the client, which looks
/// for it.
package struct ControlSocketPath: Equatable, Sendable {
    package static let system = "/run/watchd/" + Manager.name

    /// The socket of a daemon of this user.
    ///
    /// In `/tmp` another user may have made the folder first: the daemon makes it with mode 0700 and refuses one that
    /// it does not own.
    package var own: String
    /// The socket of a client of this user: `own` if it exists, else the system's.
    package var path: String

    package init(own: String, path: String) {
        self.own = own
        self.path = path
    }

    /// Root: the system's socket. Others: `$XDG_RUNTIME_DIR/watchd/`; without it (or when it is not absolute, as the
    /// XDG Base Directory Specification says) `/run/user/UID/watchd/` if `/run/user/UID` exists, else
    /// `/tmp/watchd-UID/`.
    package static func `default`(
        uid: UInt32, environment: [String: String], exists: (String) -> Bool
    ) -> ControlSocketPath {
        guard uid != 0 else { return ControlSocketPath(own: system, path: system) }
        let folder =
            if let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") {
                runtime + "/watchd"
            } else if exists("/run/user/\(uid)") {
                "/run/user/\(uid)/watchd"
            } else {
                "/tmp/watchd-\(uid)"
            }
        let own = folder + "/" + Manager.name
        return ControlSocketPath(own: own, path: exists(own) ? own : system)
    }
}
