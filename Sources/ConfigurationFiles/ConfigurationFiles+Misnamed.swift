import LinuxSystem
import Schedule
import WatchFile

extension ConfigurationFiles {
    /// Units of systemd begin in the same way.
    private static let others = ["~", ".service", ".timer", ".path", ".socket", ".target", ".mount"]

    /// A file that begins as a watch file does, and has another name. One with `.watch` in it, such as `a.watch.off`,
    /// has been put aside.
    func isMisnamed(_ name: [UInt8], in folder: [UInt8]) -> Bool {
        let text = String(decoding: name, as: UTF8.self)
        guard !text.hasPrefix("."), !text.contains(".watch"), !Self.others.contains(where: text.hasSuffix) else {
            return false
        }
        let path = folder + [UInt8(ascii: "/")] + name
        // A file that the kernel makes as it is read has no size, and may not end.
        guard let status = try? Linux.stat(path), status.kind == .regular, status.size > 0,
            status.size <= Self.largestFile,
            let bytes = try? Linux.readFile(path, limit: Self.largestFile)
        else { return false }
        return WatchFile.beginsAsOne(bytes)
    }
}
