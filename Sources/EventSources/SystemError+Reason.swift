import LinuxSystem

/// What a source says of an error of which more is known than its name tells.
extension SystemError {
    /// A sentence, for the state of a source.
    var reason: String {
        if call == "epoll_ctl", errno == .notPermitted {
            return "it cannot be waited for: it is always ready, as a file is (Tail= reads files)"
        }
        if let detail, errno == .badDescriptor, call.starts(with: "FileDescriptorName=") { return "\(call): \(detail)" }
        return description
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
