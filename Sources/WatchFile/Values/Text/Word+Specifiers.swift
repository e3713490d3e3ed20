extension Word {
    /// Tells about `%{name}` where nothing is expanded: it would otherwise silently name a strange file.
    func warnAboutSpecifiers(key: Key, _ problems: inout Problems) {
        let bytes = self.bytes
        for start in bytes.indices.dropLast() where bytes[start...].starts(with: "%{".utf8) {
            guard let end = bytes[start...].prefix(Specifier.longestName + 3).firstIndex(of: UInt8(ascii: "}")) else {
                continue
            }
            let name = String(decoding: bytes[start + 2..<end], as: UTF8.self)
            guard Specifier.named(name) != nil else { continue }
            problems.warning(
                "specifiers are not expanded in \(key.name)=; commands find the event in their environment",
                at: source(of: start..<end + 1))
            return
        }
    }
}
