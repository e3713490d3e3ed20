import Engine
import EventSources
import LinuxSystem
import Schedule
import Systemd
import WatchFile

/// The transient service of a run, with the handler's own keys, to be made by the service manager.
struct ServicePlan: Sendable {
    typealias Setting = UnitClient.Setting

    var name: String
    var settings: [Setting]
    /// Standard input, to be closed when the manager has been asked.
    var input: Int32?

    /// Looks up programs and makes the standard input: may block, for a lane.
    init(_ request: StartRequest, _ name: ServiceName, nice: Int32) throws(Child.Failure) {
        self.name = name.text
        settings = []
        do {
            let context = RunContext(request, host: Linux.hostName)
            let child = Child(request: request, step: 0, nice: nice)
            let variables = try Self.variables(context, request)
            settings = try Self.commands(child, context, variables)
            settings += try Self.process(request, variables)
            settings += Self.identity(request.definition.value)
            settings += Self.urgency(request, nice: nice)
            settings += Self.end(request.definition.value)
            settings += try Self.files(request.definition.value)
            settings += Self.about(request, name)
            // The handler's word for its unit comes last.
            settings += request.definition.value.placement?.properties.map { Setting($0) } ?? []
            if request.definition.value.standardInput != .null {
                let input = try child.standardInput(context)
                self.input = input
                settings.append(Setting("StandardInputFileDescriptor", .descriptor(input)))
            }
        } catch let error as SystemError {
            throw Child.Failure(error)
        } catch let error as LaunchFailure {
            throw Child.Failure(reason: error.reason)
        } catch let error as Child.Failure {
            throw error
        } catch {
            throw Child.Failure(reason: "\(error)")
        }
    }

    func close() { if let input { FileDescriptor(owning: input).close() } }

    // MARK: Commands and environment

    private static func commands(
        _ child: Child, _ context: RunContext, _ variables: [[UInt8]]
    ) throws -> [Setting] {
        guard case .exec(let commands) = child.request.definition.value.action else { return [] }
        let values = try commands.map { command -> BusValue in
            var words = try child.words(of: .command(command), context)
            var path = try child.lookUp(words[0], variables)[0]
            // One by itself runs by the time the manager reads the unit's file.
            if commands.count > 1, let lasting = LastingCommand.words(for: words) {
                (words, path) = (lasting, LastingCommand.shell)
            }
            // The manager expands variables, which watchd has as they are.
            let texts = try words.map { try text($0, "a word of the command").replacing("$", with: "$$") }
            return .structure([.string(try text(path, "the command")), .strings(texts), .boolean(false)])
        }
        return [
            // With `exec` the manager tells a program that cannot be executed from one that fails.
            Setting("Type", .string(commands.count == 1 ? "exec" : "oneshot")),
            Setting("ExecStart", .array("(sasb)", values)),
        ]
    }

    /// A bus takes UTF-8 only.
    private static func text(_ bytes: [UInt8], _ what: String) throws(Child.Failure) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) { return text }
        throw Child.Failure(reason: "\(what), “\(bytes.printable)”, is not UTF-8, and a unit takes nothing else")
    }

    private static func variables(_ context: RunContext, _ request: StartRequest) throws -> [[UInt8]] {
        let definition = request.definition.value
        var passed = ProcessContract()
        passed.passedEnvironment = definition.contract.passedEnvironment
        let all = ChildEnvironment.variables(
            context, definition, queue: request.environment, try LaunchSurroundings(passed),
            part: request.run.part)
        return try all.filter { variable in
            if isValid(variable) { return true }
            // The message on standard input has it.
            if variable.starts(with: "WATCHD_".utf8) { return false }
            let name = Array(variable.prefix { $0 != UInt8(ascii: "=") })
            throw Child.Failure(
                reason: "the variable \(name.printable) is not UTF-8, or has a control character: no unit can have it")
        }
    }

    /// As the manager checks it: of the control characters only tab and newline.
    private static func isValid(_ variable: [UInt8]) -> Bool {
        String(validating: variable, as: UTF8.self) != nil
            && variable.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A }
    }

    private static func process(_ request: StartRequest, _ variables: [[UInt8]]) throws -> [Setting] {
        let definition = request.definition.value
        let contract = definition.contract
        let folder = contract.startsAtHome ? Array("~".utf8) : definition.workingDirectory ?? Array("/".utf8)
        var settings = [
            Setting("Environment", .strings(try variables.map { try text($0, "a variable") })),
            Setting("WorkingDirectory", .string(try text(folder, "WorkingDirectory="))),
            Setting("UMask", .uint32(contract.mask)),
        ]
        let files = try contract.environmentFiles.map { file -> BusValue in
            .structure([.string(try text(file.path, "EnvironmentFile=")), .boolean(file.isOptional)])
        }
        if !files.isEmpty { settings.append(Setting("EnvironmentFiles", .array("(sb)", files))) }
        let credentials = try contract.serviceCredentials.map { try credential($0) }
        if !credentials.isEmpty { settings.append(Setting("LoadCredential", .array("(ss)", credentials))) }
        if let score = contract.oomScoreAdjust { settings.append(Setting("OOMScoreAdjust", .int32(score))) }
        if contract.hasNoNewPrivileges { settings.append(Setting("NoNewPrivileges", .boolean(true))) }
        for limit in contract.limits {
            let name = "Limit\(limit.resource.rawValue)"
            settings += [Setting(name, .uint64(limit.hard)), Setting("\(name)Soft", .uint64(limit.soft))]
        }
        return settings + Self.resources(contract.resources)
    }

    /// The manager hands on what it has given to watchd's own service.
    private static func credential(_ name: String) throws(Child.Failure) -> BusValue {
        guard let folder = Linux.environment(CredentialFolders.variable), folder.first == UInt8(ascii: "/"),
            (try? Linux.stat(folder + "/\(name)".utf8)) != nil
        else {
            throw Child.Failure(
                reason: "Credential=\(name): watchd's service has no such credential; "
                    + "its unit needs LoadCredential=\(name):PATH")
        }
        return .structure([.string(name), .string(try text(folder + "/\(name)".utf8, "Credential="))])
    }

    private static func resources(_ resources: ResourceControl) -> [Setting] {
        func setting(_ name: String, _ value: UInt64?) -> [Setting] { value.map { [Setting(name, .uint64($0))] } ?? [] }
        return [Setting("CPUAccounting", .boolean(true))]
            + setting("MemoryMax", resources.memoryMax)
            + setting("CPUQuotaPerSecUSec", resources.cpuQuota.map { UInt64($0) * 10_000 })
            + setting("TasksMax", resources.tasksMax)
            + setting("IOWeight", resources.ioWeight.map { UInt64($0) })
    }

    private static func identity(_ definition: HandlerDefinition) -> [Setting] {
        let contract = definition.contract
        var settings: [Setting] = []
        if let user = contract.user { settings.append(Setting("User", .string(user))) }
        if let group = contract.group { settings.append(Setting("Group", .string(group))) }
        if !contract.supplementaryGroups.isEmpty {
            settings.append(Setting("SupplementaryGroups", .strings(contract.supplementaryGroups)))
        }
        return settings
    }

    // MARK: Urgency, end, output

    /// A handler that says how nice it is says how its queue's urgency counts.
    private static func urgency(_ request: StartRequest, nice: Int32) -> [Setting] {
        let contract = request.definition.value.contract
        let priority = ChildPriority(request.qos, nice: 0, io: Linux.ioPriority)
        var settings = [Setting("Nice", .int32(contract.nice ?? priority.nice))]
        if let io = contract.io {
            let number = IOScheduling.Class.allCases.firstIndex(of: io.kind) ?? 0
            settings += Self.io(Int32(number), io.level)
        } else if let io = priority.io {
            settings += Self.io(io.number, io.level)
        }
        if let cpu = contract.cpu {
            settings += [
                Setting("CPUSchedulingPolicy", .int32(cpu.policy.number)),
                Setting("CPUSchedulingPriority", .int32(cpu.priority)),
            ]
        }
        let weight = contract.resources.cpuWeight ?? (contract.nice == nil ? request.qos.weight : nil)
        return settings + (weight.map { [Setting("CPUWeight", .uint64(UInt64($0)))] } ?? [])
    }

    private static func io(_ number: Int32, _ level: Int32) -> [Setting] {
        [Setting("IOSchedulingClass", .int32(number)), Setting("IOSchedulingPriority", .int32(level))]
    }

    /// Microseconds by which the manager lets a run go on beyond `TimeoutSec=`, which watchd enforces while it is there.
    private static let margin: UInt64 = 5_000_000

    private static func end(_ definition: HandlerDefinition) -> [Setting] {
        let mode =
            switch definition.killMode {
            case .tree: "control-group"
            case .process: "process"
            case .none: "none"
            }
        var settings = [
            // The end of the run stands in the unit until watchd has seen it.
            Setting("RemainAfterExit", .boolean(true)), Setting("AddRef", .boolean(true)),
            Setting("KillMode", .string(mode)), Setting("KillSignal", .int32(definition.killSignal)),
            Setting("TimeoutStopUSec", .uint64(definition.timeoutStop.microseconds)),
        ]
        if definition.timeout != .infinity {
            let limit = Setting.sum(definition.timeout, definition.timeoutStop, TimeSpan(microseconds: margin))
            // The commands of `oneshot` are its start.
            let name = definition.commandsOfUnit == 1 ? "RuntimeMaxUSec" : "TimeoutStartUSec"
            settings.append(Setting(name, .uint64(limit)))
        }
        let success = definition.successExitStatus
        if !success.codes.isEmpty || !success.signals.isEmpty {
            let (codes, signals) = (success.codes.sorted(), success.signals.sorted())
            settings.append(
                Setting(
                    "SuccessExitStatus",
                    .structure([
                        .array("i", codes.map { .int32($0) }), .array("i", signals.map { .int32($0) }),
                    ])))
        }
        return settings
    }

    /// Output goes to the journal by itself: no end of a watchd, however long, holds the process up or ends it.
    private static func files(_ definition: HandlerDefinition) throws -> [Setting] {
        let outputs = [
            ("StandardOutput", definition.standardOutput), ("StandardError", definition.standardError),
        ]
        return try outputs.map { name, output in
            switch output {
            case .journal, .inherit, .socket: Setting(name, .string("journal"))
            case .null: Setting(name, .string("null"))
            case .file(let path): Setting("\(name)File", .string(try text(path, "\(name)=")))
            case .append(let path): Setting("\(name)FileToAppend", .string(try text(path, "\(name)=")))
            }
        }
    }

    private static func about(_ request: StartRequest, _ name: ServiceName) -> [Setting] {
        let handler = request.definition.value.name
        let acquired = request.acquired.map { (SemaphoreDefinition.variable($0.semaphore), $0.text) }
        let fields = request.journalFields(processID: nil) + acquired
        return [
            Setting("Description", .string("watchd: \(handler), operation \(request.run.operation)")),
            // By which the lines of a user's unit are found.
            Setting("SyslogIdentifier", .string(UnitHub.ownScope == .user ? name.text : handler)),
            Setting("LogExtraFields", .array("ay", fields.map { .bytes(Array("\($0.0)=\($0.1)".utf8)) })),
        ] + staying(request.definition.value)
    }

    /// An isolation of units leaves it alone, and the end of the system stops it behind watchd. `oneshot` is not behind
    /// it: its start lasts as long as its commands, and a restart of watchd would wait for them.
    private static func staying(_ definition: HandlerDefinition) -> [Setting] {
        let own = definition.commandsOfUnit == 1 ? UnitHub.ownUnit : nil
        return [Setting("IgnoreOnIsolate", .boolean(true))] + (own.map { [Setting("Before", .strings([$0]))] } ?? [])
    }
}

extension HandlerDefinition {
    /// Commands that the manager starts for a run.
    var commandsOfUnit: Int { if case .exec(let commands) = action { commands.count } else { 0 } }
}

extension UnitClient.Setting {
    /// `Unit.KEY=`.
    fileprivate init(_ property: UnitProperty) { self.init(property.name, BusValue(property.value)) }

    /// Microseconds; the largest number where it is too long.
    fileprivate static func sum(_ spans: TimeSpan...) -> UInt64 {
        spans.reduce(0) { sum, span in
            let (result, overflow) = sum.addingReportingOverflow(span.microseconds)
            return overflow ? .max : result
        }
    }
}

extension BusValue {
    init(_ value: UnitProperty.Value) {
        self =
            switch value {
            case .flag(let flag): .boolean(flag)
            case .text(let text): .string(text)
            case .integer(let number): .int32(number)
            case .short(let number): .uint16(number)
            case .number(let number): .uint32(number)
            case .large(let number): .uint64(number)
            case .bytes(let bytes): .bytes(bytes)
            case .texts(let texts): .strings(texts)
            case .structure(let values): .structure(values.map { BusValue($0) })
            case .array(let element, let values): .array(element, values.map { BusValue($0) })
            }
    }
}
