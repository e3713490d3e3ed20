import LinuxSystem
import WatchFile

/// Where the store is.
enum StateDirectory {
    /// `StateDirectory=`; else what systemd made for the service; else root's, or the user's own.
    static func path(_ settings: DaemonSettings) -> [UInt8] { path(settings.stateDirectory) }

    /// - Parameter named: by `StateDirectory=`.
    static func path(_ named: [UInt8]?) -> [UInt8] {
        if let named { return named }
        // Several are separated by colons (`systemd.exec(5)`).
        if let passed = Linux.environment("STATE_DIRECTORY")?.split(separator: UInt8(ascii: ":")).first {
            return Array(passed)
        }
        if Linux.effectiveUserID == 0 { return Array("/var/lib/watchd".utf8) }
        if let state = Linux.environment("XDG_STATE_HOME"), state.first == UInt8(ascii: "/") {
            return state + Array("/watchd".utf8)
        }
        return (Linux.environment("HOME") ?? Array("/var/lib".utf8)) + Array("/.local/state/watchd".utf8)
    }
}
