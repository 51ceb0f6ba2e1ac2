"""The servers that are compared, each with the configuration its own people would give it. Logs are off everywhere."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Peer:
    """One server: all its processes are one session, so that their time and memory can be added up."""

    name = "?"
    scheme = "http"

    def __init__(self, root, place, tls=None):
        self.root, self.place, self.tls = pathlib.Path(root), pathlib.Path(place), tls
        self.place.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.scheme = "https" if tls else "http"
        self.process = None

    def command(self):
        """Writes what configuration there is, and gives the command line."""
        raise NotImplementedError

    def start(self):
        """Starts it; gives the seconds until it answered its first request."""
        command = self.command()
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=open(self.place / "out.log", "wb"), stderr=subprocess.STDOUT,
            start_new_session=True)
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
                    if self.tls:
                        break
                    connection.sendall(b"GET /get/1k HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                    if connection.recv(100).startswith(b"HTTP/1.1 "):
                        break
            except OSError:
                pass
            if self.process.poll() is not None or time.perf_counter() - began > 20:
                raise RuntimeError(f"{self.name} did not start: " + (self.place / "out.log").read_text()[-1000:])
            time.sleep(0.0002)
        return time.perf_counter() - began

    def pids(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.process.pid:
                found.append(int(path.parent.name))
        return found

    def cpu(self):
        """User and system seconds of all its processes, ended children included."""
        total = 0
        for pid in self.pids():
            try:
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            total += sum(map(int, fields[11:15])) if pid == self.process.pid else int(fields[11]) + int(fields[12])
        return total / TICKS

    def precise_cpu(self):
        """As `cpu`, in nanoseconds' resolution where the kernel has it; without children that ended."""
        total = 0
        for pid in self.pids():
            for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
                try:
                    total += int(task.read_text().split()[0])
                except OSError:
                    pass
        return total / 1e9 if total else self.cpu()

    def memory(self, field):
        """`VmRSS` or `VmHWM` of all its processes, in bytes."""
        total = 0
        for pid in self.pids():
            try:
                for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                    if line.startswith(field + ":"):
                        total += int(line.split()[1]) * 1024
            except OSError:
                pass
        return total

    def stop(self):
        if self.process is None:
            return
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.process = None

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"


class Shareserve(Peer):
    name = "shareserve"
    binary = None

    def command(self):
        options = ["--tls-cert", self.tls[0], "--tls-key", self.tls[1]] if self.tls else []
        return [str(self.binary), str(self.root), "--port", str(self.port), "--bind", "127.0.0.1", "-q", *map(str, options)]


class Nginx(Peer):
    name = "nginx"

    def command(self):
        listen = f"listen 127.0.0.1:{self.port}" + (" ssl http2;" if self.tls else ";")
        secrets = f"ssl_certificate {self.tls[0]}; ssl_certificate_key {self.tls[1]};" if self.tls else ""
        config = self.place / "nginx.conf"
        config.write_text(f"""
load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
daemon off; worker_processes auto; pid {self.place}/pid; error_log /dev/null;
{"user root;" if os.geteuid() == 0 else ""}
events {{ worker_connections 8192; }}
http {{
  include /etc/nginx/mime.types; default_type application/octet-stream;
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; keepalive_timeout 600;
  open_file_cache max=10000 inactive=60s; open_file_cache_valid 60s; open_file_cache_min_uses 1;
  client_max_body_size 0; client_body_temp_path {self.root}/.nginx; client_body_buffer_size 128k;
  gzip on; gzip_comp_level 5; gzip_types text/plain; gzip_min_length 1000; {secrets}
  server {{ {listen} root {self.root}; autoindex on;
    dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; create_full_put_path on; dav_access all:rw; }}
}}""")
        return ["nginx", "-c", str(config), "-e", "/dev/null"]


class Lighttpd(Peer):
    name = "lighttpd"

    def command(self):
        config = self.place / "lighttpd.conf"
        secrets = (f'server.modules += ("mod_openssl")\nssl.engine = "enable"\nssl.pemfile = "{self.tls[0]}"\n'
                   f'ssl.privkey = "{self.tls[1]}"\n') if self.tls else ""
        config.write_text(f"""
server.modules = ("mod_webdav")
server.document-root = "{self.root}"
server.port = {self.port}
server.bind = "127.0.0.1"
server.errorlog = "/dev/null"
server.network-backend = "sendfile"
server.stat-cache-engine = "simple"
server.max-keep-alive-requests = 100000000
server.max-fds = 16384
server.max-connections = 8192
server.upload-dirs = ("{self.root}")
server.stream-request-body = 2
mimetype.assign = (".txt" => "text/plain", "" => "application/octet-stream")
webdav.activate = "enable"
webdav.is-readonly = "disable"
{secrets}""")
        return ["lighttpd", "-D", "-f", str(config)]


class Apache(Peer):
    name = "apache"

    def user(self):
        """It serves nobody as root."""
        if os.geteuid() != 0:
            return ""
        self.place.chmod(0o777)
        return "User www-data\nGroup www-data"

    def command(self):
        config = self.place / "apache.conf"
        modules = "/usr/lib/apache2/modules"
        config.write_text(f"""
ServerRoot {self.place}
ServerName 127.0.0.1
Listen 127.0.0.1:{self.port}
PidFile {self.place}/pid
ErrorLog /dev/null
{self.user()}
""" + "\n".join(f"LoadModule {name}_module {modules}/mod_{name}.so" for name in ("mpm_event", "dav", "dav_fs", "mime", "authz_core"))
            + f"""
TypesConfig /etc/mime.types
MaxKeepAliveRequests 0
KeepAliveTimeout 600
EnableSendfile On
DAVLockDB {self.place}/lock
DavDepthInfinity On
DocumentRoot {self.root}
<Directory {self.root}>
Require all granted
Dav On
</Directory>
""")
        return ["apache2", "-DFOREGROUND", "-f", str(config)]


class Rclone(Peer):
    name = "rclone"

    def command(self):
        program = pathlib.Path(sys.executable).parent / "rclone"
        return [str(program), "serve", "webdav", str(self.root), "--addr", f"127.0.0.1:{self.port}", "--vfs-cache-mode", "off",
                "--dir-cache-time", "0s", "-q", "--config", "/dev/null"]


class Caddy(Peer):
    name = "caddy"

    def command(self):
        config = self.place / "Caddyfile"
        config.write_text(f"""{{
    admin off
    auto_https off
    storage file_system {self.place}
}}
http://127.0.0.1:{self.port} {{
    root * {self.root}
    file_server browse
}}
""")
        return [str(pathlib.Path(sys.executable).parent / "caddy"), "run", "--config", str(config), "--adapter", "caddyfile"]


class WsgiDAV(Peer):
    name = "wsgidav"

    def command(self):
        return [str(pathlib.Path(sys.executable).parent / "wsgidav"), "--root", str(self.root), "--host", "127.0.0.1", "--port",
                str(self.port), "--auth", "anonymous", "-qqq"]


ALL = [Shareserve, Nginx, Lighttpd, Apache, Rclone, Caddy, WsgiDAV]
