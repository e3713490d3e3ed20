package import LinuxSystem
package import WatchFile

/// Why a command cannot be started, as a sentence.
package struct LaunchFailure: Error {
    package var reason: String
}

/// The names in a contract that are looked up at each start: user, groups and files with variables. Name services and
/// files may block, so it is for a lane.
package struct LaunchSurroundings: Sendable {
    /// Bytes of one environment file.
    private static let largestFile = 1 << 20

    /// `nil`: that of watchd.
    package private(set) var identity: ProcessAttributes.Identity?
    /// `HOME`, `USER`, `LOGNAME`, `SHELL` of `User=`, and what `PassEnvironment=` names: below `Environment=`.
    package private(set) var inherited: [EnvironmentVariable] = []
    /// Of the environment files: above `Environment=`.
    package private(set) var files: [EnvironmentVariable] = []
    /// `WorkingDirectory=~`.
    package private(set) var home: [UInt8]?
    /// Settings that were passed over.
    package private(set) var warnings: [String] = []

    package init(_ contract: ProcessContract) throws(LaunchFailure) {
        let account: Account?
        if let credentials = contract.credentials {
            account = try Self.account(of: credentials)
            identity = try Self.identity(credentials)
        } else {
            account = try Self.account(contract)
            identity = try Self.identity(contract, account)
        }
        if contract.user != nil || contract.credentials != nil, let account { inherited = Self.variables(of: account) }
        for name in contract.passedEnvironment {
            guard let value = Linux.environment(name) else { continue }
            inherited.append(EnvironmentVariable(name: name, value: value))
        }
        if contract.startsAtHome { home = try Self.home(account) }
        for file in contract.environmentFiles { try read(file) }
    }

    // MARK: Environment files

    private mutating func read(_ file: EnvironmentFile) throws(LaunchFailure) {
        let bytes: [UInt8]
        do throws(SystemError) {
            // A FIFO would be waited for.
            let opened = try Linux.open(file.path, [.reading, .nonBlocking, .noControllingTerminal])
            bytes = try opened.use { number throws(SystemError) in
                try Linux.readToEnd(number, limit: Self.largestFile, name: file.path)
            }
        } catch {
            guard file.isOptional else {
                throw LaunchFailure(reason: "EnvironmentFile=\(file.path.printable): \(error.errno)")
            }
            if ![.noSuchFile, .notFolder].contains(error.errno) {
                warnings.append("EnvironmentFile=-\(file.path.printable): \(error.errno)")
            }
            return
        }
        for (name, value) in EnvironmentText.variables(in: bytes) {
            guard EnvironmentVariable.isName(name), !name.starts(with: "WATCHD_".utf8), !value.contains(0) else {
                warnings.append("EnvironmentFile=\(file.path.printable): “\(name.printable)” passed over")
                continue
            }
            files.append(EnvironmentVariable(name: String(decoding: name, as: UTF8.self), value: value))
        }
    }
}
