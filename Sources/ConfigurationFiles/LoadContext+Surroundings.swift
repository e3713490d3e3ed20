import LinuxSystem
package import WatchFile

extension LoadContext {
    /// Has everything looked at that the watch files name: users, groups, programs and folders. May block as long as
    /// the name service and the file systems do.
    package mutating func lookAround() {
        lookUpOwners()
        programFlaw = { Self.flaw(ofProgram: $0) }
        filledSubfolders = { Self.filledSubfolders(of: $0) }
        isMissing = { Self.isMissing($0) }
        // As sd_booted(3) has it.
        lacksServiceManager = { Self.isMissing(Array("/run/systemd/system".utf8)) }
    }

    // MARK: Programs

    /// A path that cannot be looked at may be there.
    private static func flaw(ofProgram name: [UInt8]) -> String? {
        guard !name.contains(UInt8(ascii: "/")) else { return flaw(at: name) }
        let places = Command.searchPath.split(separator: ":").map { Array($0.utf8) + [UInt8(ascii: "/")] + name }
        return places.contains { flaw(at: $0) == nil } ? nil : "is missing in PATH (\(Command.searchPath))"
    }

    private static func flaw(at path: [UInt8]) -> String? {
        do throws(SystemError) {
            let status = try Linux.stat(path)
            if status.kind == .folder { return "is a folder, not a program" }
            return status.kind == .regular && status.permissions & 0o111 == 0 ? "is not executable (chmod +x)" : nil
        } catch {
            return [.noSuchFile, .notFolder].contains(error.errno) ? "is missing" : nil
        }
    }

    // MARK: Folders

    /// A path that cannot be looked at counts as present.
    private static func isMissing(_ path: [UInt8]) -> Bool {
        do throws(SystemError) {
            _ = try Linux.lstat(path)
            return false
        } catch {
            return [.noSuchFile, .notFolder].contains(error.errno)
        }
    }

    /// More are not looked into.
    private static let mostFolders = 100
    /// Where files wait for nobody: what has been dealt with, or is not ready yet.
    private static let restingPlaces: Set<String> = [
        "done", "processed", "archive", "archived", "failed", "error", "errors", "bad", "rejected", "old", "backup",
        "backups", "tmp", "temp", "trash", "sent", "out", "cur", "new", "work", "processing", "log", "logs",
        "lost+found", "ok", "success", "completed", "finished", "imported", "ignored", "quarantine",
    ]

    /// Folders with files, in a folder that has only folders.
    private static func filledSubfolders(of path: [UInt8]) -> [String] {
        guard let entries = try? Linux.readFolder(path), !entries.isEmpty,
            entries.allSatisfy({ $0.kind == .folder })
        else { return [] }
        return entries.prefix(mostFolders).compactMap { entry in
            guard let name = String(validating: entry.name, as: UTF8.self), !name.hasPrefix("."),
                !restingPlaces.contains(name.lowercased())
            else { return nil }
            let inner = try? Linux.readFolder(path + [UInt8(ascii: "/")] + entry.name)
            return inner?.contains { $0.kind == .regular } ?? false ? name : nil
        }.sorted()
    }
}
