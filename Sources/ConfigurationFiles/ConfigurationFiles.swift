// Which files make up the configuration, and what they say.
//
//   - A file means itself and its drop-ins, `NAME.watch.d/*.watch`; a folder means its `*.watch` files.
//   - Names are taken in the order of their bytes; those that begin with a dot are not looked at, as in a shell.
//   - What cannot be read is a diagnostic and the rest is read all the same, so that everything is reported at once.
//   - Nothing here waits: what is not a regular file is refused before it is opened.
//   - To root, a file or folder that others may write, or replace by a folder above it, is not a configuration: who can
//     write it can run anything as root. To anybody else, one that belongs to another user but root.

import LinuxSystem
package import WatchFile

/// Finds and reads the watch files.
package struct ConfigurationFiles: Sendable {
    /// Bytes of one watch file.
    package static let largestFile = 1 << 20

    private let isRoot: Bool
    private let trust: PathTrust
    private var texts: [WatchFileText] = []
    private var diagnostics: [Diagnostic] = []

    /// Reads the files and folders of the command line, or without any those of the default place. Blocks only as long
    /// as the file system does.
    package static func read(arguments: [String]) -> (texts: [WatchFileText], diagnostics: [Diagnostic]) {
        read(arguments: arguments, userID: Linux.effectiveUserID) { Linux.environment($0) }
    }

    /// The same for a given user and environment; root's rules hold when `userID` is 0.
    package static func read(
        arguments: [String], userID: UInt32, environment: (String) -> [UInt8]?
    ) -> (texts: [WatchFileText], diagnostics: [Diagnostic]) {
        var files = ConfigurationFiles(userID)
        if arguments.isEmpty {
            files.readDefaultPlace(environment)
        } else {
            for argument in arguments { files.readFileOrFolder(Array(argument.utf8)) }
        }
        return (files.texts, files.diagnostics)
    }

    private init(_ userID: UInt32) {
        isRoot = userID == 0
        // A group that a user shares files with is that user's own choice.
        trust = PathTrust(user: userID, refusedPermissions: isRoot ? 0o022 : 0)
    }

    private mutating func readDefaultPlace(_ environment: (String) -> [UInt8]?) {
        func value(_ name: String) -> [UInt8]? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
        if let folders = value("CONFIGURATION_DIRECTORY") {
            // One folder for each name of ConfigurationDirectory=, with colons between (systemd.exec(5)).
            for folder in folders.split(separator: UInt8(ascii: ":")) { readFolder(Array(folder)) }
        } else if isRoot {
            readFolder(Array("/etc/watchd".utf8))
        } else if let folder = value("XDG_CONFIG_HOME"), folder.first == UInt8(ascii: "/") {
            readFolder(folder + Array("/watchd".utf8))
        } else if let home = value("HOME") {
            readFolder(home + Array("/.config/watchd".utf8))
        } else {
            report(.error, "no watch file is named, and neither XDG_CONFIG_HOME nor HOME is set", [])
        }
    }

    private mutating func readFileOrFolder(_ path: [UInt8]) {
        guard let status = status(path) else { return }
        if status.kind == .folder { readFolder(path) } else { readFileWithDropIns(path) }
    }

    /// A folder's `*.watch` files, each with its drop-ins.
    private mutating func readFolder(_ folder: [UInt8]) {
        guard let names = names(in: folder) else { return }
        let files = names.filter { Self.isWatchFileName($0) }
        if files.isEmpty { report(.warning, "there is no *.watch file in this folder", folder) }
        for file in files { readFileWithDropIns(Self.path(folder, file)) }
        for name in names where isMisnamed(name, in: folder) {
            report(.warning, "not read: the name of a watch file ends in .watch", Self.path(folder, name))
        }
        for name in names where name.suffix(2) == Array(".d".utf8)[...] {
            let file = Array(name.dropLast(2))
            if Self.isWatchFileName(file), !files.contains(file) {
                report(
                    .warning, "there is no \(file.printable) that this folder could extend; ignored",
                    Self.path(folder, name))
            }
        }
    }

    private mutating func readFileWithDropIns(_ file: [UInt8]) {
        guard let bytes = readFile(file) else { return }
        texts.append(WatchFileText(file: Self.text(file), bytes: bytes, dropInOf: nil))
        let folder = file + Array(".d".utf8)
        guard Self.isWatchFileName(file), (try? Linux.lstat(folder)) != nil, let names = names(in: folder) else {
            return
        }
        for name in names {
            let path = Self.path(folder, name)
            guard Self.isWatchFileName(name) else {
                if name.suffix(5) == Array(".conf".utf8)[...] || isMisnamed(name, in: folder) {
                    report(.warning, "not read: the name of a drop-in ends in .watch", path)
                }
                continue
            }
            guard let bytes = readFile(path) else { continue }
            texts.append(WatchFileText(file: Self.text(path), bytes: bytes, dropInOf: Self.text(file)))
        }
    }

    /// Its names in order, if it is a folder that may be trusted.
    private mutating func names(in folder: [UInt8]) -> [[UInt8]]? {
        guard let status = status(folder) else { return nil }
        if status.kind != .folder {
            report(.error, "this is \(status.kind.phrase), not a folder", folder)
            return nil
        }
        if isDistrusted(folder, status) { return nil }
        do throws(SystemError) {
            return try Linux.readFolder(folder).map(\.name).sorted { $0.lexicographicallyPrecedes($1) }
        } catch {
            report(.error, "cannot be read: \(error.errno)", folder)
            return nil
        }
    }

    private mutating func readFile(_ path: [UInt8]) -> [UInt8]? {
        // Opening a FIFO or a device can wait, or do something; so it is asked first, and again once it is open.
        guard let status = status(path), isReadable(path, status) else { return nil }
        do throws(SystemError) {
            let file = try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal])
            let (opened, bytes) = try file.use { descriptor throws(SystemError) in
                let opened = try Linux.fstat(descriptor)
                let isSame = opened.kind == .regular
                return (opened, isSame ? try Linux.readToEnd(descriptor, limit: Self.largestFile) : [])
            }
            return isReadable(path, opened) ? bytes : nil
        } catch let error where error.errno == .fileTooLarge {
            reportTooLarge(path)
        } catch {
            report(.error, "cannot be read: \(error.errno)", path)
        }
        return nil
    }

    private mutating func status(_ path: [UInt8]) -> FileStatus? {
        do throws(SystemError) {
            return try Linux.stat(path)
        } catch {
            report(.error, "cannot be read: \(error.errno)", path)
            return nil
        }
    }

    private mutating func isReadable(_ path: [UInt8], _ status: FileStatus) -> Bool {
        if status.kind != .regular {
            report(.error, "this is \(status.kind.phrase), not a file", path)
        } else if status.size > Self.largestFile {
            reportTooLarge(path)
        } else {
            return !isDistrusted(path, status)
        }
        return false
    }

    private mutating func isDistrusted(_ path: [UInt8], _ status: FileStatus) -> Bool {
        let victim = isRoot ? "root" : "watchd"
        switch trust.flaw(of: status) {
        case .owner(let user):
            report(
                .error, "belongs to user \(user); refused, since \(victim) would run what that user writes", path)
        case .writable:
            report(.error, "others than root may write this; refused, since root would run what they write", path)
        case nil:
            // A folder that cannot be looked at is told when it is read.
            guard let finding = try? trust.flaw(above: path) else { return false }
            let help = isRoot ? "keep it where only root may write" : "keep it where only you and root may write"
            report(
                .error, "\(finding), who could replace it; refused, since \(victim) would run that; \(help)", path)
        }
        return true
    }

    private mutating func reportTooLarge(_ path: [UInt8]) {
        report(.error, "larger than \(Self.largestFile >> 20) MiB", path)
    }

    private mutating func report(_ severity: Diagnostic.Severity, _ message: String, _ path: [UInt8]) {
        diagnostics.append(
            Diagnostic(severity: severity, location: Diagnostic.Location(file: Self.text(path)), message: message))
    }

    /// As it is where that is text: the diagnostics care for what is fit to print.
    private static func text(_ path: [UInt8]) -> String { String(validating: path, as: UTF8.self) ?? path.printable }

    private static func path(_ folder: [UInt8], _ name: [UInt8]) -> [UInt8] {
        folder.last == UInt8(ascii: "/") ? folder + name : folder + [UInt8(ascii: "/")] + name
    }

    private static func isWatchFileName(_ path: [UInt8]) -> Bool {
        let name = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last ?? []
        let suffix = Array(".watch".utf8)
        return name.first != UInt8(ascii: ".") && name.count > suffix.count && name.suffix(suffix.count) == suffix[...]
    }
}
