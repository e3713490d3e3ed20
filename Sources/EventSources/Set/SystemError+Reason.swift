import LinuxSystem

/// The reason of a source for an error of which more is known than its name tells.
extension SystemError {
    /// A sentence, for the state of a source.
    var reason: String {
        switch (call, errno) {
        case ("epoll_ctl", .notPermitted):
            return "it cannot be waited for: it is always ready, as a file is (Tail= reads files)"
        case ("inotify_add_watch", .noSpace) where isOfRoom:
            return "inotify watches used up (\(detail ?? ""))"
        case ("inotify_add_watch", .noSpace):
            return "inotify watches used up (sysctl fs.inotify.max_user_watches)"
        case ("inotify_init1", .descriptorsExhausted):
            return "no inotify instance is left (sysctl fs.inotify.max_user_instances), or no descriptor (LimitNOFILE=)"
        case (_, .descriptorsExhausted): return "\(description); raise LimitNOFILE="
        default: break
        }
        if let detail, errno == .badDescriptor, call.starts(with: "FileDescriptorName=") { return "\(call): \(detail)" }
        return description
    }

    /// Whether `MaxWatches=` is the limit.
    var isOfRoom: Bool { call == "inotify_add_watch" && errno == .noSpace && detail?.hasPrefix("MaxWatches=") == true }

    /// Whether it is a limit that leaves a path without an inotify watch.
    var leavesUnwatched: Bool {
        call.starts(with: "inotify_")
            && [.noSpace, .outOfMemory, .descriptorsExhausted, .systemDescriptorsExhausted].contains(errno)
    }

    /// The same error, of a file that was to be made at this path.
    func making(_ path: [UInt8]) -> SystemError {
        switch errno {
        case .noSuchFile:
            return SystemError(call: call, detail: "\(path.printable), whose folder does not exist", errno: errno)
        case .addressInUse:
            guard let kind = (try? Linux.lstat(path))?.kind else { return self }
            let what = kind == .socket ? "\(kind.phrase) that is in use" : kind.phrase
            return SystemError(call: call, detail: "\(path.printable), where \(what) stands", errno: errno)
        default: return self
        }
    }
}
