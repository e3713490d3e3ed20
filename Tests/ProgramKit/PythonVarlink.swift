import Glibc

/// Python's `varlink` package, which shares no code with this repository.
package enum PythonVarlink {
    /// The folder of the environment; `nil` where none can be made.
    private static let folder = try? makeTemporaryFolder()

    /// The interpreter of a virtual environment with the package in it, made for the first test that asks and removed
    /// when the tests end; `nil` where it cannot be had (no python3-venv, or PyPI cannot be reached).
    package static let interpreter: String? = {
        guard let folder else { return nil }
        atexit { if let folder = PythonVarlink.folder { removeTree(Array(folder.utf8)) } }
        let install = ["\(folder)/bin/pip", "install", "--quiet", "--disable-pip-version-check", "varlink==31.0.0"]
        guard (try? Program.run(["python3", "-m", "venv", folder], seconds: 120))?.code == 0,
            (try? Program.run(install, seconds: 120))?.code == 0
        else { return nil }
        return "\(folder)/bin/python"
    }()
}
