-- Run in each database at each start: the rights of its roles, and the end of users that are no longer among the inputs.
SET client_min_messages = warning;

SELECT format('REASSIGN OWNED BY %I TO %I', gone.rolname, pg_get_userbyid(datdba))
  FROM pg_roles gone, pg_database
  WHERE shobj_description(gone.oid, 'pg_authid') = 'mistletoe: removed' AND datname = current_database() \gexec
SELECT format('DROP OWNED BY %I', rolname)
  FROM pg_roles WHERE shobj_description(oid, 'pg_authid') = 'mistletoe: removed' \gexec

SELECT current_database() || '_owner' AS owner,
       current_database() || '_read_write' AS read_write,
       current_database() || '_read_only' AS read_only,
       EXISTS (SELECT FROM pg_roles WHERE rolname = current_database() || '_owner') AS declared \gset

\if :declared
-- What owners made under their own names: all owners may change it.
SELECT format('REASSIGN OWNED BY %I TO %I', mine.rolname, :'owner')
  FROM pg_auth_members
  JOIN pg_roles held ON held.oid = roleid
  JOIN pg_roles mine ON mine.oid = member
  WHERE held.rolname = :'owner' AND shobj_description(mine.oid, 'pg_authid') = 'mistletoe' \gexec

SELECT format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', nspname) FROM pg_namespace WHERE nspname = 'public' \gexec
SELECT format('GRANT CREATE, USAGE ON SCHEMA %I TO %I', nspname, :'owner') FROM pg_namespace WHERE nspname = 'public' \gexec

-- What is there, and what owners will make.
SELECT format(statement, nspname, :'read_write', :'read_only')
  FROM pg_namespace, (VALUES
    (1, 'GRANT USAGE ON SCHEMA %1$I TO %2$I, %3$I'),
    (2, 'GRANT SELECT ON ALL TABLES IN SCHEMA %1$I TO %2$I, %3$I'),
    (3, 'GRANT SELECT ON ALL SEQUENCES IN SCHEMA %1$I TO %2$I, %3$I'),
    (4, 'GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %1$I TO %2$I'),
    (5, 'GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA %1$I TO %2$I')
  ) AS statements (number, statement)
  WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\_%'
  ORDER BY nspname, number \gexec

ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" GRANT USAGE ON SCHEMAS TO :"read_write", :"read_only";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" GRANT SELECT ON TABLES TO :"read_write", :"read_only";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" GRANT SELECT ON SEQUENCES TO :"read_write", :"read_only";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" GRANT INSERT, UPDATE, DELETE ON TABLES TO :"read_write";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" GRANT USAGE, UPDATE ON SEQUENCES TO :"read_write";
\endif
