# Answers /name, /ready (whether the databases can be used) and / (the same, and who of the peers answers). It needs no
# more than perl itself and, for a database, MariaDB's client.
use strict;
use warnings;
use IO::Socket::INET;

my $timeout = 3;

# The first line of an answer to these lines; empty if there is none.
sub ask {
    my ($host, $port, $lines, $answers) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port, Timeout => $timeout) or return "";
    local $SIG{ALRM} = sub { die "late\n" };
    my $last = eval {
        alarm $timeout;
        print $socket $lines;
        my $line = "";
        for (1 .. $answers) { $line = <$socket> // "" }
        alarm 0;
        $line;
    };
    alarm 0;
    return $last // "";
}

sub database {
    local $ENV{MYSQL_PWD} = $ENV{DATABASE_PASSWORD};
    my @command = ("mariadb", "--no-defaults", "--host=$ENV{DATABASE_HOST}", "--port=$ENV{DATABASE_PORT}",
        "--user=$ENV{DATABASE_USERNAME}", "--connect-timeout=$timeout", "--skip-column-names", "--execute=SELECT 1",
        $ENV{DATABASE_NAME});
    open(my $out, "-|", @command) or return 0;
    my $line = <$out> // "";
    close $out;
    return $line eq "1\n";
}

sub cache {
    my $lines = "AUTH $ENV{CACHE_USERNAME} $ENV{CACHE_PASSWORD}\r\nPING\r\n";
    return ask($ENV{CACHE_HOST}, $ENV{CACHE_PORT}, $lines, 2) eq "+PONG\r\n";
}

sub peer { return ask($_[0], $ENV{PORT}, "GET /name HTTP/1.0\r\n\r\n", 1) =~ m{^HTTP/1\.\d 200\b} }

# The path's status and its members of JSON.
sub answer {
    my ($path) = @_;
    my @members = (qq("name": "$ENV{NAME}"));
    return (200, @members) if $path eq "/name";
    return (404, @members) if $path ne "/" and $path ne "/ready";
    my $ready = 1;
    for (["database", \&database, $ENV{DATABASE_HOST}], ["cache", \&cache, $ENV{CACHE_HOST}]) {
        my ($name, $check, $used) = @$_;
        next unless $used;
        my $fine = $check->() ? 1 : 0;
        $ready &&= $fine;
        push @members, qq("$name": ) . ($fine ? "true" : "false");
    }
    push @members, map { qq("$_": ) . (peer($_) ? "true" : "false") } split " ", $ENV{PEERS} if $path eq "/";
    return ($ready ? 200 : 503, @members);
}

$SIG{TERM} = sub { exit 0 };
$SIG{CHLD} = sub { 1 while waitpid(-1, 1) > 0 };
my $server = IO::Socket::INET->new(LocalPort => $ENV{PORT}, Listen => 128, ReuseAddr => 1) or die "port $ENV{PORT}: $!\n";
while (1) {
    my $client = $server->accept or next;
    next if fork;
    $SIG{CHLD} = "DEFAULT";
    alarm 10;
    my ($path) = (<$client> // "") =~ m{^GET (/[a-z]*) HTTP} or exit 0;
    while (defined(my $header = <$client>)) { last if $header =~ /^\r?$/ }
    my ($status, @members) = answer($path);
    my $body = "{" . join(", ", @members) . "}\n";
    print $client "HTTP/1.0 $status \r\nContent-Type: application/json\r\nContent-Length: ", length $body, "\r\n\r\n", $body;
    exit 0;
}
