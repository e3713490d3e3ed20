import WatchFile

/// The launch of a supervised process as a number: it is stored with the process, so that a later watchd that finds it
/// running knows whether its section asks for another one by now.
///
/// Of a definition each property that concerns the launch is written by a number of its own, and left out where it has
/// its default. So a property that a later version adds changes no number, unless the watch file uses it. Within a
/// version nothing of this may change but by numbers that are new. (Version 1 was stored without its number, hung on
/// the names of all properties, and cannot be computed again.)
package struct LaunchFingerprint: Equatable, Sendable, CustomStringConvertible {
    static let version = 2

    /// The hash of what is written.
    let value: UInt64

    init(_ process: HandlerDefinition) {
        var text = LaunchText()
        text.put(process)
        value = FNV1a.hash(text.bytes.span)
    }

    /// `nil`: of another version, so nothing is known.
    package init?(_ description: String) {
        let parts = description.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "\(Self.version)", let value = UInt64(parts[1]),
            parts[1] == "\(value)"
        else { return nil }
        self.value = value
    }

    /// As it is stored: the version and the number, `2:4711`.
    package var description: String { "\(Self.version):\(value)" }
}

/// Writes the properties that concern the launch. How a process is ended and judged is none of them: that can change
/// while it runs.
private struct LaunchText {
    /// Never used for another property, nor changed.
    private enum Property: UInt8 {
        case command = 1
        case word, workingDirectory, environmentName, environmentValue, standardInput, standardOutput, standardError
        case path
        case mask, nice, io, cpu, oomScore, noNewPrivileges, limit
        case user, group, supplementaryGroup, home, environmentFile, optionalEnvironmentFile, passedVariable
        case memoryMax, cpuQuota, tasksMax, cpuWeight, ioWeight
        case acknowledgement
        case credential
    }

    private(set) var bytes: [UInt8] = []

    mutating func put(_ process: HandlerDefinition) {
        if case .exec(let commands) = process.action {
            for command in commands {
                put(.command, [])
                // No event starts it, so a specifier means nothing here.
                for case .template(let word) in command.words { put(.word, word.expanded { _ in [] }) }
            }
        }
        if let stream = process.stream {
            put(.command, [])
            for case .template(let word) in stream.command.words { put(.word, word.expanded { _ in [] }) }
            if stream.isAcknowledged { put(.acknowledgement, []) }
        }
        if let folder = process.workingDirectory { put(.workingDirectory, folder) }
        for variable in process.environment {
            put(.environmentName, Array(variable.name.utf8))
            put(.environmentValue, variable.value)
        }
        if process.standardInput != .null { put(.standardInput, [Self.number(process.standardInput)]) }
        put(.standardOutput, process.standardOutput)
        put(.standardError, process.standardError)
        put(process.contract)
    }

    private mutating func put(_ contract: ProcessContract) {
        if contract.mask != ProcessContract().mask { put(.mask, "\(contract.mask)") }
        if let nice = contract.nice { put(.nice, "\(nice)") }
        if let io = contract.io { put(.io, "\(io.kind.rawValue) \(io.level)") }
        if let cpu = contract.cpu { put(.cpu, "\(cpu.policy.rawValue) \(cpu.priority)") }
        if let score = contract.oomScoreAdjust { put(.oomScore, "\(score)") }
        if contract.hasNoNewPrivileges { put(.noNewPrivileges, []) }
        if let user = contract.user { put(.user, user) }
        if let group = contract.group { put(.group, group) }
        for group in contract.supplementaryGroups { put(.supplementaryGroup, group) }
        if contract.startsAtHome { put(.home, []) }
        for file in contract.environmentFiles {
            put(file.isOptional ? .optionalEnvironmentFile : .environmentFile, file.path)
        }
        for name in contract.passedEnvironment { put(.passedVariable, name) }
        for name in contract.serviceCredentials { put(.credential, name) }
        let resources = contract.resources
        if let bytes = resources.memoryMax { put(.memoryMax, "\(bytes)") }
        if let quota = resources.cpuQuota { put(.cpuQuota, "\(quota)") }
        if let tasks = resources.tasksMax { put(.tasksMax, "\(tasks)") }
        if let weight = resources.cpuWeight { put(.cpuWeight, "\(weight)") }
        if let weight = resources.ioWeight { put(.ioWeight, "\(weight)") }
        for limit in contract.limits { put(.limit, "\(limit.resource.rawValue) \(limit.soft) \(limit.hard)") }
    }

    private mutating func put(_ property: Property, _ text: String) { put(property, Array(text.utf8)) }

    private mutating func put(_ property: Property, _ output: StandardOutput) {
        switch output {
        case .journal: break
        case .null: put(property, [1])
        case .inherit: put(property, [2])
        case .socket: put(property, [3])
        case .file(let path):
            put(property, [4])
            put(.path, path)
        case .append(let path):
            put(property, [5])
            put(.path, path)
        }
    }

    private static func number(_ input: StandardInput) -> UInt8 {
        switch input {
        case .event: 1
        case .paths: 2
        case .paths0: 3
        case .lines: 4
        case .payload: 5
        case .output: 6
        case .socket: 7
        case .null: 8
        }
    }

    /// The length in front tells where it ends.
    private mutating func put(_ property: Property, _ content: [UInt8]) {
        bytes.append(property.rawValue)
        let length = UInt64(content.count)
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: length >> shift)) }
        bytes += content
    }
}

extension SupervisedCommand {
    var launch: LaunchFingerprint { LaunchFingerprint(process) }

    func isLaunchedAs(_ other: SupervisedCommand) -> Bool { launch == other.launch }
}
