import CSystemd
import LinuxSystem

/// The service manager's store of descriptors (`FileDescriptorStoreMax=`): what is in it outlives the daemon, and comes
/// back by `ListenSockets.take`, under its name, at the next start.
///
/// Both functions block while the manager's queue is full, so never to be called on `watchd.core`. Delivered does not
/// mean stored: the manager says nothing of what it drops (the store is full, or not wanted).
package enum DescriptorStore {
    /// Descriptors that one datagram can carry (SCM_MAX_FD).
    private static let descriptorsPerDatagram = 253

    /// `sd_pid_notify_with_fds(3)` with FDSTORE: adds descriptors under a name. A second one of the same object is
    /// dropped by the manager; others of the same name are kept beside those that were there.
    ///
    /// - Parameters:
    ///   - name: ASCII without `:` and control characters, at most 255 bytes.
    ///   - descriptors: numbers that must stay open until this returns; they stay the caller's.
    ///   - polls: the manager drops them when they hang up.
    @discardableResult
    package static func put(_ name: String, _ descriptors: [Int32], polls: Bool) -> Notifier.Delivery {
        precondition(isName(name), "\(name) is no name of a stored descriptor")
        let text = "FDSTORE=1\nFDNAME=\(name)" + (polls ? "" : "\nFDPOLL=0")
        var rest = descriptors[...]
        while !rest.isEmpty {
            let delivery = send(text, Array(rest.prefix(descriptorsPerDatagram)))
            guard delivery == .sent else { return delivery }
            rest = rest.dropFirst(descriptorsPerDatagram)
        }
        return .sent
    }

    /// FDSTOREREMOVE: takes everything of that name out.
    @discardableResult
    package static func remove(_ name: String) -> Notifier.Delivery {
        precondition(isName(name), "\(name) is no name of a stored descriptor")
        return send("FDSTOREREMOVE=1\nFDNAME=\(name)", [])
    }

    package static func isName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
    }

    private static func send(_ text: String, _ descriptors: [Int32]) -> Notifier.Delivery {
        switch sd_pid_notify_with_fds(0, 0, text, descriptors, UInt32(descriptors.count)) {
        case 0: .notAsked
        case let code where code < 0: .failed(Errno(-code))
        default: .sent
        }
    }
}
