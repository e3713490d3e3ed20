import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Every method of the real daemon, called by Python's `varlink` package, which shares no code with it.
@Suite("Python's varlink, end to end", .ownThread) struct PythonTests {
    private static let script = """
        import json, sys, varlink
        client = varlink.Client.new_with_address("unix:" + sys.argv[1])
        called = {}
        def call(method, more=False, **parameters):
            with client.open("io.watchd.Manager") as manager:
                if not more:
                    called[method] = getattr(manager, method)(**parameters)
                    return called[method]
                for reply in getattr(manager, method)(_more=True, **parameters):
                    called[method] = reply
                    return reply
        def stay(method, **parameters):
            manager = client.open("io.watchd.Manager")
            called[method] = getattr(manager, method)(**parameters)
            return manager, called[method]
        def fails(method, **parameters):
            try:
                call(method, **parameters)
            except varlink.VarlinkError as error:
                return error.as_dict()["error"]
        call("Emit", name="poke", data=41, payload={"a": [1, None, "\\u00e4"]})
        call("EmitAll", events=[{"name": "poke"}, {"name": "poke", "data": 2}])
        ran = call("Run", name="handler/say", wait=True)
        call("GetOperation", id=ran["operations"][0])
        call("Suspend", name="queue/off", reason="a test")
        call("Resume", name="queue/off")
        call("ListSources"); call("ListQueues"); call("ListHandlers"); call("ListOperations", limit=1)
        call("ListHistory", limit=1); call("Retry", name="say"); call("Forget", name="handler/say")
        call("ListSemaphores"); call("ListNames", kind="names", prefix="s"); call("Explain", id=ran["operations"][0])
        call("Wait", more=True, id=ran["operations"][0], timeout_usec=1000000)
        call("Signal", name="tokens", count=2)
        manager, entered = stay("EnterGroup", name="work")
        late = None
        try:
            call("Wait", more=True, name="work", timeout_usec=1)
        except varlink.VarlinkError as error:
            late = error.as_dict()["error"]
        call("LeaveGroup", name="work", ticket=entered["ticket"])
        manager.close()
        call("Wait", more=True, name="work")
        call("Follow", more=True, since=0)
        call("Cancel", queue="off")
        call("Reload")
        call("GetStatus")
        errors = [fails("Emit", name="nobody"), fails("Cancel"), fails("Follow"), fails("GetOperation", id=12345), late,
            fails("Wait", name="work"), fails("LeaveGroup", name="work", ticket=1), fails("Explain"),
            fails("EnterGroup", name="work", pid=-1)]
        with client.open("io.systemd.service") as service:
            service.Ping()
            service.SetLogLevel(level=6)
            level = service.GetLogLevel()
            service.Reload()
        call("Stop")
        print(json.dumps({"called": called, "errors": errors, "level": level}))
        """

    @Test func everyMethodAnswers() throws {
        let text = """
            [Queue off]
            Suspended=yes
            [Custom poke]
            Log=poked
            Queue=off
            [Handler say]
            Exec=/bin/echo said
            [Custom unused]
            Handler=say
            [Semaphore tokens]
            Value=0
            [Group work]
            Members=say
            Log=done
            """
        guard let python = PythonVarlink.interpreter else {
            print("SKIPPED: Python's varlink cannot be installed (no python3-venv, or PyPI cannot be reached)")
            return
        }
        try Watchd.run(text) { watchd in
            let end = try Program.run([python, "-c", Self.script, watchd.socket])
            try #require(end.code == 0, "\(end)")
            let result = try JSON.decode(JSONValue.self, from: end.output)
            let called = try #require(result.members?["called"]?.members)
            #expect(
                called.keys.sorted() == [
                    "Cancel", "Emit", "EmitAll", "EnterGroup", "Explain", "Follow", "Forget", "GetOperation",
                    "GetStatus", "LeaveGroup", "ListHandlers", "ListHistory", "ListNames", "ListOperations",
                    "ListQueues", "ListSemaphores", "ListSources",
                    "Reload", "Resume", "Retry", "Run", "Signal", "Stop", "Suspend", "Wait",
                ])
            #expect(called["Run"]?.members?["result"] == .string("done"))
            #expect(called["GetOperation"]?.members?["operation"]?.members?["output"] == .string("said\n"))
            #expect(called["Retry"]?.members?["operations"] == .array([]))
            #expect(called["Signal"]?.members?["available"] == .int(2))
            #expect(called["Explain"]?.members?["object"] == .string("handler/say"))
            #expect(called["Suspend"]?.members?["suspended"] == .int(2))
            #expect(called["Cancel"]?.members?["cancelled"] == .int(1))
            #expect(called["GetStatus"]?.members?["totals"]?.members?["cancelled"] == .int(3))
            #expect(
                result.members?["errors"]
                    == .array([
                        .string("io.watchd.Manager.NoSuchName"), .string("org.varlink.service.InvalidParameter"),
                        .string("org.varlink.service.ExpectedMore"), .string("io.watchd.Manager.NoSuchOperation"),
                        .string("io.watchd.Manager.TimedOut"), .string("org.varlink.service.ExpectedMore"),
                        .string("io.watchd.Manager.NoSuchTicket"), .string("org.varlink.service.InvalidParameter"),
                        .string("org.varlink.service.InvalidParameter"),
                    ]))
            #expect(result.members?["level"]?.members?["level"] == .int(6))
            #expect(watchd.waitForEnd() == .exited(0))
        }
    }
}
