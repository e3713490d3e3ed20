import EventSources
import LinuxSystem
import ProgramKit
import Schedule
import Systemd
import Testing
import WatchFile

@testable import Engine
@testable import Handlers

/// The parts of `RunIn=unit` that need no service manager.
@Suite("Runs as services", .ownThread) struct ServiceTests {
    private let instance = InstanceName(folder: "/state", secret: Array("0123456789abcdef".utf8))

    @Test(arguments: [
        ("0::/system.slice/watchd.service/daemon\n", "watchd.service"),
        ("9:name=systemd:/\n1:cpu:/\n0::/system.slice/watchd.service\n", "watchd.service"),
        ("2:cpu:/\n1:name=systemd:/system.slice/watchd.service\n0::/\n", "watchd.service"),
        ("0::/user.slice/user-0.slice/user@0.service/app.slice/watchd.service\n", "watchd.service"),
        ("0::/user.slice/user-0.slice/session-1.scope\n", nil),
        ("0::/user.slice/user-0.slice/user@0.service/app.slice/terminal.scope\n", nil), ("0::/\n", nil), ("", nil),
    ]) func itsOwnServiceIsKnownByItsGroup(text: String, unit: String?) {
        #expect(UnitHub.unit(Array(text.utf8)) == unit)
    }

    private func request(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> StartRequest {
        let words = ["/bin/echo", "a$b", "c d"].map { Command.Word.template(Template(literal: $0)) }
        var definition = HandlerDefinition(name: "x.y-1", action: .exec([Command(words: words)]))
        definition.placement = UnitPlacement(properties: [UnitProperty("PrivateTmp", .flag(true))])
        change(&definition)
        return StartRequest(
            run: RunID(operation: 7, attempt: 2), definition: SharedDefinition(definition), queue: "q",
            qos: .background, environment: [], origin: .source(SourceID(.custom, "c")),
            events: [Event(id: 1, time: 0, fact: .custom(CustomFact(data: 7)))])
    }

    private func plan(_ request: StartRequest) throws -> [String: BusValue] {
        let name = ServiceName(request.run, handler: request.definition.value.name, instance)
        let plan = try ServicePlan(request, name, nice: 0)
        plan.close()
        return Dictionary(plan.settings.map { ($0.name, $0.value) }) { $1 }
    }

    @Test func aNameSaysWhichRunItIs() throws {
        for run in [RunID(operation: 7, attempt: 2), RunID(operation: 1 << 60, attempt: 1, part: 3)] {
            let name = ServiceName(run, handler: "x.y-1", instance)
            let found = try #require(ServiceName(name.text))
            #expect(found == name && found.run == run && found.handler == "x.y-1")
        }
        #expect(
            ServiceName(RunID(operation: 7, attempt: 2), handler: "h", instance).text.hasPrefix("watchd-run-7-2.h."))
        for other in ["watchd.service", "watchd-run-7-2.service", "watchd-run-07-2.h.t.service", "run-7-2.h.t.service"]
        {
            #expect(ServiceName(other) == nil, "\(other)")
        }
        let second = InstanceName(folder: "/other", secret: [])
        #expect(second.tag != instance.tag && instance.tag.utf8.count == 8)
    }

    @Test func theHandlersKeysBecomeProperties() throws {
        let settings = try plan(
            request {
                $0.contract.user = "games"
                $0.contract.resources.cpuQuota = 150
                $0.contract.limits = [ResourceLimit(.nofile, soft: 7, hard: ResourceLimit.infinity)]
                ($0.timeout, $0.timeoutStop, $0.killSignal) = (.seconds(60), .seconds(2), 10)
                $0.standardError = .append(Array("/log".utf8))
                $0.successExitStatus = ExitStatusSet(codes: [3], signals: [1])
                $0.environment = [EnvironmentVariable(name: "A", value: Array("b c".utf8))]
            })
        #expect(settings["Type"] == .string("exec") && settings["PrivateTmp"] == .boolean(true))
        let command = BusValue.structure([
            .string("/bin/echo"), .strings(["/bin/echo", "a$$b", "c d"]), .boolean(false),
        ])
        #expect(settings["ExecStart"] == .array("(sasb)", [command]), "a $ is no variable")
        #expect(settings["User"] == .string("games") && settings["CPUQuotaPerSecUSec"] == .uint64(1_500_000))
        #expect(settings["LimitNOFILE"] == .uint64(.max) && settings["LimitNOFILESoft"] == .uint64(7))
        #expect(settings["RuntimeMaxUSec"] == .uint64(67_000_000), "watchd comes first")
        #expect(settings["KillSignal"] == .int32(10) && settings["KillMode"] == .string("control-group"))
        #expect(settings["StandardOutput"] == .string("journal"))
        #expect(settings["StandardErrorFileToAppend"] == .string("/log"))
        #expect(settings["SuccessExitStatus"] == .structure([.array("i", [.int32(3)]), .array("i", [.int32(1)])]))
        #expect(settings["Nice"] == .int32(10) && settings["CPUWeight"] == .uint64(10), "of the queue")
        guard case .strings(let variables)? = settings["Environment"] else { throw Missing() }
        #expect(variables.contains("A=b c") && variables.contains("WATCHD_OPERATION=7"))
        #expect(!variables.contains { $0.hasPrefix("WATCHD_INSTANCE=") }, "a unit's variables are no secret")
        guard case .descriptor? = settings["StandardInputFileDescriptor"] else { throw Missing() }
    }

    private struct Missing: Error {}

    @Test func whatIsNotUTF8IsToldOrLeftOut() throws {
        let word = Command.Word.template(Template(parts: [.literal([0x2F, 0xFF])]))
        let error = #expect(throws: Child.Failure.self) {
            try plan(request { $0.action = .exec([Command(words: [word])]) })
        }
        #expect(error?.reason.contains("is not UTF-8, and a unit takes nothing else") == true, "\(error as Any)")
        let other = #expect(throws: Child.Failure.self) {
            try plan(request { $0.environment = [EnvironmentVariable(name: "A", value: [0x07])] })
        }
        #expect(other?.reason.hasPrefix("the variable A is not UTF-8") == true, "\(other as Any)")
    }

    @Test func theManagersFileSaysWhatWasStarted() {
        let text = """
            [Service]
            LogExtraFields=WATCHD_HANDLER=backup
            LogExtraFields=WATCHD_QUEUE=q
            LogExtraFields=WATCHD_SOURCE=path/in
            LogExtraFields=WATCHD_ACQUIRED_GPU=a%%b 1
            Nice=0
            """
        let fields = LivingServices.fields(Array(text.utf8))
        let name = ServiceName(RunID(operation: 7, attempt: 2), handler: "backup", instance)
        let process = AdoptableProcess(name, fields, started: 5)
        #expect(process?.handler == "backup" && process?.queue == "q" && process?.run == name.run)
        #expect(process?.kind == "path" && process?.source == "in" && process?.isService == true)
        #expect(process?.acquired == ["WATCHD_ACQUIRED_GPU": "a%b 1"])
        #expect(AdoptableProcess(name, [:], started: 5) == nil)
    }

    private func end(
        _ result: String, pid: UInt64 = 5, code: UInt64 = 1, status: UInt64 = 0, entered: UInt64 = 9, job: String? = nil
    ) -> ServiceEnd {
        var answers = UnitClient.Answers()
        answers.texts[.result] = result
        answers.numbers = [.processID: pid, .exitCode: code, .exitStatus: status, .activeEnter: entered]
        return ServiceEnd(unit: "u", answers: answers, jobResult: job)
    }

    @Test func withoutABusTheRunFailsAndSaysSo() throws {
        guard (try? Linux.stat("/run/dbus/system_bus_socket")) == nil else { return print("SKIPPED: there is a bus") }
        try Rim.with { rim in
            let request = request()
            rim.start(request)
            try wait(for: "its end") { rim.notStarted[request.run] != nil }
            let reason = rim.notStarted[request.run] ?? ""
            #expect(reason.hasPrefix("RunIn=unit: there is no ") && reason.contains(" bus"), "\(reason)")
        }
    }

    @Test func theEndOfAServiceIsJudged() {
        let one = request().definition.value
        func verdict(_ end: ServiceEnd, _ startFailure: String? = nil) -> ServiceEnd.Verdict {
            end.verdict(one, startFailure: startFailure)
        }
        #expect(verdict(end("success")) == .ended(.exited(0), reason: nil))
        #expect(verdict(end("exit-code", status: 203)) == .ended(.exited(203), reason: nil), "its own")
        #expect(verdict(end("signal", code: 2, status: 15)) == .ended(.signaled(15), reason: nil))
        #expect(verdict(end("core-dump", code: 3, status: 11)) == .ended(.signaled(11), reason: nil))
        #expect(
            verdict(end("exit-code", status: 203, entered: 0), "Failed at step EXEC")
                == .notStarted("u: Failed at step EXEC"))
        #expect(
            verdict(end("exit-code", status: 200, entered: 0))
                == .notStarted("u: systemd could not start its process: exit status 200"))
        #expect(
            verdict(end("oom-kill", code: 2, status: 9))
                == .ended(.signaled(9), reason: "u was ended for want of memory (oom-kill)"))
        #expect(
            verdict(end("protocol")) == .ended(nil, reason: "u failed with the result “protocol”"), "no success")
        #expect(
            verdict(end("resources", pid: 0, job: "failed")) == .notStarted("u: systemd could not start it (resources)")
        )
        #expect(
            verdict(end("success", pid: 0))
                == .ended(nil, reason: "u is gone: systemd does not know it any more, nor how it ended"))
    }
}
