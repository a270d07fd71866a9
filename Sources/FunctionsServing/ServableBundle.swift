public import FunctionsRuntime

/// A bundle that can also serve standalone, without `functions-host`: its callable and HTTP functions on one port, as
/// Cloud Run and Knative expect.
///
///     import FunctionsRuntime
///     import FunctionsServing
///
///     @main
///     struct ShopFunctions: ServableBundle { … }
///
/// It handles the command lines of `functions-host` like any bundle. With the argument `serve`, or without arguments if
/// the environment has `PORT`, it serves: each function in separate processes of this executable.
public protocol ServableBundle: FunctionBundle {}

extension ServableBundle {
    /// Executes the command: `serve`, `manifest`, or `worker NAME`.
    ///
    /// Exits with 64 for invalid arguments, with 78 if the bundle or the environment is invalid, and with 1 if it can't
    /// serve.
    public static func main() {
        main(otherwise: [
            (command: "serve [--port N]", does: "serve its callable and HTTP functions on PORT; also the default"),
            (command: "worker NAME", does: "run one function for the serving process"),
        ]) { arguments, manifest in
            guard let request = ServingRequest(arguments) else { return }
            ServingProgram(name: "\(Self.self)", manifest: manifest).run(request)
        }
    }
}
