import CSystemd
import Glibc
package import LinuxSystem

package enum Journal {
    /// Whether standard error is a stream of the journal, so that entries should be sent by themselves, with their
    /// fields, and nothing written there.
    package static func isStandardError() -> Bool {
        guard let stream = Linux.environment("JOURNAL_STREAM"), let status = try? Linux.fstat(2) else { return false }
        return isStream(stream, device: status.device, inode: status.inode)
    }

    /// `$JOURNAL_STREAM` is `DEVICE:INODE` (`systemd.exec(5)`).
    static func isStream(_ stream: [UInt8], device: UInt64, inode: UInt64) -> Bool {
        stream == Array("\(device):\(inode)".utf8)
    }

    /// `sd_journal_sendv(3)`. Does nothing where no journal runs. Blocks while the journal's queue is full, so never to
    /// be called on `watchd.core`.
    package static func send(_ entry: JournalEntry) throws(SystemError) {
        let bytes = entry.fields.flatMap { $0 }
        let result = bytes.withUnsafeBytes { bytes in
            var parts: [iovec] = []
            var offset = 0
            for field in entry.fields {
                parts.append(
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress?.advanced(by: offset)),
                        iov_len: field.count))
                offset += field.count
            }
            return sd_journal_sendv(parts, Int32(parts.count))
        }
        if result < 0 { throw SystemError(call: "sd_journal_sendv", errno: Errno(-result)) }
    }
}
